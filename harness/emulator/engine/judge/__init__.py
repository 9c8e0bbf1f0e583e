"""The NumPy engine: knows every instruction, counts, and judges every fault.

It executes thousands of threads at once, block after basic block, on arrays.
"""
