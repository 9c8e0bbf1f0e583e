"""A parser and an interpreter for the C++ subset with which extensions launch their kernels."""
