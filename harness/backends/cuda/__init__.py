"""The backend on an NVIDIA GPU, through PyCUDA, which only this folder imports.

backend.py opens the device; workspace.py verifies and times in its memory; stream.py holds the
stream and empties the L2 cache; memory.py allocates with guards; watch.py and watch.cu fill, hash
and compare memory outside the timed interval; calls.py launches a kernel, a Python function, a host
function or the library; library_kernels.py finds which kernels a library chose.
"""
