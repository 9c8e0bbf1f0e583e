"""A figure as a list of lines, bars, marks and texts, which are written as SVG and as PNG."""
