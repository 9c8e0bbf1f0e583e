"""Costs by line, of source and of machine code, and the differences between two sources."""
