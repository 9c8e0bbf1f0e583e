"""A launch's memory: its buffers, variables and arguments."""
