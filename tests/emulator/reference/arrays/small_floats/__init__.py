"""Floats of 8 and 16 bits: arithmetic and conversions, for whole arrays at once."""
