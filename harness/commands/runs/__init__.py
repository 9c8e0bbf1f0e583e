"""Commands that make a run: plain, watched, on a cluster, sandboxed, or together with another
commit."""
