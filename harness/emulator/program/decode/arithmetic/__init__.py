"""Decode arithmetic that the table of signatures does not describe."""
