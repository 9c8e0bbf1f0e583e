"""A second engine: the same program run by a warp machine in C++, many times faster on few blocks.

`encode` lays a `Program` out for it, `library` compiles and loads it, `run` runs a launch. It knows
fewer instructions than the NumPy engine, and of races it knows only what may be one. Where either
is not enough, it gives the launch up, puts the buffers back, and the NumPy engine has the word.
"""
