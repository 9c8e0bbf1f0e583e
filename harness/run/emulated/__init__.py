"""Count timed cases in the emulator if Nsight Compute is missing or not permitted to read counters.

The same worker job as in a run without a GPU counts the cubins that were timed. No module of this
folder changes a time or an outcome.
"""
