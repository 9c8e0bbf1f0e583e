"""The messages of all faults: by_verdict.py turns the judge's fault codes into kinds and
messages."""
