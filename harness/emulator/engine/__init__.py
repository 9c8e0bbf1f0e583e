"""The engine that executes a program: a warp machine in C++ (`machine`), and its Python side.

`native` runs a launch quickly and only flags suspected faults. `judging` runs suspect launches, and
launches that only it can run, and reports the exact fault.
"""
