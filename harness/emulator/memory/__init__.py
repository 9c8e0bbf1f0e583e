"""Where a launch's buffers and variables are, and what its arguments are made of."""
