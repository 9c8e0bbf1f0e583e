"""Count timed cases in the emulator, for when Nsight Compute is missing or may not read counters.

This is exactly how a run without a GPU counts: the same worker job, on the cubins that were timed.
Nothing here touches a time or an outcome.
"""
