"""The instruction set: a row for each machine instruction, its operands and its modifiers."""
