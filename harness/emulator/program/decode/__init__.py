"""PTX instructions to typed operations."""
