"""PTX text to records of what it says."""
