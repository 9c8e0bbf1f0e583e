"""Compile a source to PTX and cubin, with the assembler's report; cached by content."""
