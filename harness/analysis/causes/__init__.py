"""Causes of a step's speed-up: what limited each side, and which limit the faster side relieved."""
