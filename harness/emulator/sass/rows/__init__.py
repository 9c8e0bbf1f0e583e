"""Rows of the table of machine instructions, and what a row is."""
