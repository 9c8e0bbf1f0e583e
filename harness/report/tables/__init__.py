"""Tables as the templates draw them: cells that say what they sort by, and why they are empty."""
