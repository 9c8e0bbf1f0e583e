"""Suites of small kernels that others wrote to be judged: some are faulty, and some only look so."""
