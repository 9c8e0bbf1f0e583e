"""The machine that a run is on: its card, its devices, its processor and its driver."""
