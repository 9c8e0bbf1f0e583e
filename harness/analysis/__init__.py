"""What records mean: quantities, causes, rooflines, claims. Reads tables only; needs no GPU."""
