"""The command line: the options of each command, and its help.

A program need not be able to run anything in order to show its version, its help or a completion.
So the modules here import at the top only typer, each other, and modules that are as light; a
command imports the code that carries it out when it runs.
"""
