"""Checks, on the device, of the data that launches leave in device memory."""
