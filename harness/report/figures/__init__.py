"""Figures: each drawn by one function for two widths, as SVG for the page and as PNG beside it."""
