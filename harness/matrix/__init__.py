"""bench.yaml and kernels/*/bench.yaml → cases: read strictly, merged, resolved for one device."""
