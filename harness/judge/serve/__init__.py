"""The judge for programs: its line protocol and its conversations."""
