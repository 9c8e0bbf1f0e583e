"""Rows of the table of machine instructions, and the definition of a row."""
