"""The sides of a comparison: saved baselines, and commits beside the kernels of today."""
