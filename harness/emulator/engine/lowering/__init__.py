"""Lower a `Program` for the warp machine: registers become rows, operations become numbers."""
