"""Turns bench.yaml and kernels/*/bench.yaml into cases: read strictly, merged, and resolved for one
device."""
