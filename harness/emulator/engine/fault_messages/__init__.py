"""The wording of every fault: a verdict's numbers become a kind and a message."""
