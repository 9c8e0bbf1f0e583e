"""Other people's suites of small kernels, written to test checkers: some are faulty, and some only
appear to be."""
