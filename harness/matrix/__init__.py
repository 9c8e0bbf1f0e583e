"""bench.yaml → cases: read strictly, merged, resolved for one device."""
