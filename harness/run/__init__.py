"""A run: compile, verify each variant alone, measure the survivors, journal everything."""
