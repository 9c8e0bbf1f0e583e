"""The machine that a run uses: its card, devices, processor and driver."""
