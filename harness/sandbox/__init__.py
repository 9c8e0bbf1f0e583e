"""Walls around a process that handles what strangers wrote: bubblewrap, and rules for sockets."""
