"""What is watched while a kernel runs: races, what nothing wrote, barriers, masks."""
