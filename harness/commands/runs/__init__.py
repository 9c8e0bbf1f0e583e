"""Commands that make a run: plain, watched, on a cluster, sandboxed, or beside another commit."""
