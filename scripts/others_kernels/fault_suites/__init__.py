"""Suites of small kernels that others wrote to be judged: some have a fault, and some only look so."""
