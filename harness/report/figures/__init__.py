"""Figures, each drawn by one function at two widths: as SVG for the page, and as a PNG file next to
the page."""
