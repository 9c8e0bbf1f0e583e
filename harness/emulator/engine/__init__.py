"""What executes a program: a warp machine in C++, and the NumPy engine that judges (`judge`).

`lowering` lays a program out for the machine in `machine/`, `library` compiles and loads that,
`native` runs a launch on it. It knows fewer instructions than the judge, and of races it knows only
what may be one. Where either is not enough, it gives the launch up, puts the buffers back, and the
judge has the word.
"""
