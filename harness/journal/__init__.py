"""A run's journal: its records, the file that they are appended to, and the folder around it."""
