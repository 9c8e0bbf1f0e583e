"""A run's journal: its records, its append-only file, and the run's folder."""
