"""One matrix on many GPUs: a run's pieces, sent to Dask workers, and their records brought back.

Only connection.py imports `distributed`, and only where --cluster is given.
"""
