"""Parse PTX text into records."""
