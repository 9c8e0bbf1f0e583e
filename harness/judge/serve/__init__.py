"""The judge for programs: what goes over a line, and who holds the conversation."""
