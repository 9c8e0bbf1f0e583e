"""Functions that are called rather than launched: of a .cu file, of Python, and of torch."""
