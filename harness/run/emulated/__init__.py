"""Count timed cases in the emulator, for when Nsight Compute is missing or may not read counters.

The same worker job as in a run without a GPU counts the cubins that were timed. No module of this
folder changes a time or an outcome.
"""
