"""The command line: the options of each command, and its help.

Showing the version, the help or a completion must not require a working installation. Therefore, at
the top, the modules in this folder import only typer, each other, and equally light modules. A
command imports its implementation when it runs.
"""
