"""A source → PTX, cubin and what the assembler says of it; cached by content."""
