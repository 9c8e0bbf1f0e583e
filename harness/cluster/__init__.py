"""Run one matrix on many GPUs: send the work items to Dask workers and collect their records.

Only connection.py imports `distributed`, and only if --cluster is given.
"""
