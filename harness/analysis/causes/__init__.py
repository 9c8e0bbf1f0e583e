"""Causes of a step's speed-up: what limited each side, and what the faster one relieved."""
