"""A `Program` laid out for the warp machine: rows of registers, and operations by number."""
