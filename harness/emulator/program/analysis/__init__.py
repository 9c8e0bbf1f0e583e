"""Static analyses of a program: registers, loops, uniformity, and possible accesses."""
