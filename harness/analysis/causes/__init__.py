"""Causes of a step's speed-up: what limited each variant, and which limit the faster one
relieved."""
