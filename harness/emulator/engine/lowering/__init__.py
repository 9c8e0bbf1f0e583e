"""A `Program` lowered for the warp machine: rows of registers, and operations by number."""
