"""What executes a program: a warp machine in C++ (`machine`), and what it takes and gives.

`native` runs a launch fast and suspects; `judging` runs what is suspected, or only it can run, and
says exactly what is wrong.
"""
