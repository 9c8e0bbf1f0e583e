"""Interpret a run's records as quantities, causes, rooflines and claims. Needs no GPU."""
