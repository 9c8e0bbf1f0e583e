"""Facts about GPU architectures: limits and occupancy."""
