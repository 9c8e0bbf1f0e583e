"""Work done in a process of its own: verifying, counting and timing kernels."""
