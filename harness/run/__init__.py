"""A run: compile, verify each variant alone, measure those that pass, journal everything."""
