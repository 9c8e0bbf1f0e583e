"""Causes of a step's speed-up: each side read by its limits, and what relieved them."""
