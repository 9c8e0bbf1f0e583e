"""A kernel as typed operations in basic blocks, and static analyses of it."""
