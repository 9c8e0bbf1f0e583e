"""Commands that make a run: watched, spread, in a sandbox, or beside another commit."""
