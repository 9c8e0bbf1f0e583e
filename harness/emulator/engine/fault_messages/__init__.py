"""The messages of all faults: a verdict's numbers become a kind and a message (by_verdict.py)."""
