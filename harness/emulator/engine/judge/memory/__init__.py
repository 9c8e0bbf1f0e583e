"""Memory instructions on arrays: what they read and write, and what that costs."""
