"""Turn bench.yaml and kernels/*/bench.yaml into cases: read, merged, resolved for one device."""
