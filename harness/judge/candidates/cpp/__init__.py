"""A parser and an interpreter for the part of C++ in which extensions launch their kernels."""
