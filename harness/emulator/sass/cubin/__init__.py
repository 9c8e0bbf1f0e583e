"""Read a cubin into machine code: its ELF joined with the disassembler's output."""
