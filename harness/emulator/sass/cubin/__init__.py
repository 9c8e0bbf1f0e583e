"""A cubin → its machine code: what its ELF says, and what the disassembler prints, joined."""
