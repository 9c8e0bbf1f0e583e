"""A comparison of two runs, in words, as files and as a page."""
