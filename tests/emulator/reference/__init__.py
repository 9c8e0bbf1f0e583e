"""A second opinion on the emulator: random kernels, and a scalar interpreter that executes them.

`semantics` has the PTX ISA's definitions of single instructions on Python integers, `kernel` a
structured kernel that prints itself as PTX, `interpreter` executes that structure one thread at a
time, `pieces` and `strategies` make random kernels with Hypothesis, and `comparison` runs both
sides. Nothing but `comparison` imports the emulator, so that a mistake in it cannot be copied here.
`arrays` takes a translated program, and has every operation and every cost on arrays of NumPy.
"""
