"""Checks of what launches leave in device memory, on the device."""
