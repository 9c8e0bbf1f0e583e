"""The sides of a comparison: saved baselines, and a commit's kernels together with the current
ones."""
