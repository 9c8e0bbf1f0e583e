"""Suites of small kernels by others, written to test checkers: some are faulty, some only appear
so."""
