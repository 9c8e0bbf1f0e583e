"""Processes of the harness: started, forked, listened to, bounded and ended."""
