"""Files that are not a run's: folders for the time being, strict YAML, kernels' sources."""
