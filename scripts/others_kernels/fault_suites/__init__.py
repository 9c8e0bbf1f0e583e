"""Suites of small kernels by others, written to test checkers: some are faulty, and some only
appear to be."""
