"""The part of C++ in which extensions launch their kernels: read, and executed."""
