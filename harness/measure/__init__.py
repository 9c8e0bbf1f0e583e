"""Timing that may be trusted: rounds, ceilings and the statistics of both."""
