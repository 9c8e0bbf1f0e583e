"""Facts about GPU architectures: limits, occupancy, and the costs of memory instructions."""
