"""The results of a launch, as plain data with no dependencies."""
