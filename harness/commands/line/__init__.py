"""The command line: what each command takes, and what it says of itself.

To be asked for its version, its help or a completion, a program need not be able to do anything.
So nothing here imports at its top more than typer, what lies beside it, and modules that are as
light; a command imports what carries it out when it runs.
"""
