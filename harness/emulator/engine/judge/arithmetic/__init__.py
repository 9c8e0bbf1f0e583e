"""What instructions compute, on arrays."""
