"""Suites of small kernels that others wrote to be judged: some are faulty, some only look so."""
