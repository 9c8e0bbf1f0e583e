"""The machine that a run is on: its card, devices, processor and driver."""
