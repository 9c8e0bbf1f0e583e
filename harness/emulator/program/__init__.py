"""A kernel as typed operations in basic blocks, and what can be said of it before it runs."""
