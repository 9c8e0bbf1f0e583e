"""The engine that executes a program: a warp machine in C++ (`machine`), with its input and output.

`native` runs a launch fast and only flags suspected faults. `judging` runs suspect launches, and
those that only it can run, and reports the exact fault.
"""
