"""From rounds to verdicts: net times, intervals, and which rounds do not count."""
