"""The command line: the options of each command, and its help.

Showing the version, the help or a completion must not require a working installation. Therefore the
modules of this folder import at the top only typer, each other, and equally light modules; a
command imports its implementation when it runs.
"""
