"""Trustworthy timing: rounds and ceilings."""
