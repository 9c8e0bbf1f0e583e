"""Turn bench.yaml and kernels/*/bench.yaml into cases: read strictly, merge, resolve for a device."""
