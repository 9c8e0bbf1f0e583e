"""Facts about GPU architectures: limits, occupancy, and what memory instructions cost."""
