"""Counters by line: of the source, of machine code, and between two sources."""
