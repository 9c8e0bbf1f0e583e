"""The engine that executes a program: a warp machine in C++ (`machine`), and its Python side.

`native` runs a launch quickly and only flags suspected faults. `judging` executes a launch with
exact checks if `native` suspects a fault or cannot run the launch, and reports the fault.
"""
