"""The engine that executes a program: a warp machine in C++ (`machine`), with its input and output.

`native` runs a launch fast and only suspects faults. `judging` runs suspect launches, and those
that only it can run, and says exactly what is wrong.
"""
