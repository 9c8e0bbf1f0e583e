"""How git is started."""

GIT = ("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
"""Without programs that a repository's own configuration tells git to start; filters that it names
still run (see SECURITY.md)."""
