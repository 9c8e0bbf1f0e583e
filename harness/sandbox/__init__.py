"""Isolation of a process that handles untrusted input: bubblewrap, and rules for sockets."""
