"""Files that belong to no run: scratch folders, strict YAML, kernel sources, line tables."""
