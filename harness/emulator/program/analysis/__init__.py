"""Static analyses of a program: registers, loops, uniformity, and what its accesses may do."""
