"""What runs a case: the GPU, which gives times, or the emulator, which gives counters."""
