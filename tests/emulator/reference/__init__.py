"""An independent implementation: random kernels, and a scalar interpreter that executes them.

`semantics` has the PTX ISA's definitions of single instructions on Python integers, `kernel` a
structured kernel that prints itself as PTX, `interpreter` executes that structure one thread at a
time, `pieces` and `strategies` generate random kernels with Hypothesis, and `comparison` runs both
sides. Only `comparison` imports the emulator, so that the reference cannot share the emulator's
mistakes. `arrays` executes a translated program, with every operation and every cost on NumPy
arrays.
"""
