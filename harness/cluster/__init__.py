"""One matrix on many GPUs: sends a run's work items to Dask workers and collects their records.

Only connection.py imports `distributed`, and only if --cluster is given.
"""
