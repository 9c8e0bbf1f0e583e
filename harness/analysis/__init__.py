"""The meaning of records: quantities, causes, rooflines, claims. Reads tables; needs no GPU."""
