"""Two runs, or the two sides of one, compared."""
