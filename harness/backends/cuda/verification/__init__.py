"""On-device checks of the data that launches leave in device memory."""
