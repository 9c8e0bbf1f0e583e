"""From rounds to verdicts: net times, intervals, and excluded rounds."""
