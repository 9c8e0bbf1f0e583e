"""Compare CUDA kernel variants: which is faster, by how much, and why."""
