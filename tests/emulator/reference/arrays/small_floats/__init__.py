"""Floats of 8 and 16 bits: their arithmetic and conversions, for whole arrays at once."""
