"""Counting what was timed in the emulator, where Nsight Compute is missing or may not read.

The very path on which a run without a GPU counts: the same worker job, on the cubins that were
timed. Nothing here touches a time or an outcome.
"""
