"""Read a cubin's machine code: the disassembler's output joined with the ELF."""

from __future__ import annotations

from pathlib import Path

from harness.emulator.ptx.syntax import Location
from harness.emulator.sass.code import INSTRUCTION_BYTES, Function, Instruction, MachineCode
from harness.emulator.sass.cubin import disassembler, elf, listings, operands
from harness.emulator.sass.cubin.disassembler import Listing
from harness.emulator.sass.errors import CubinError, DisassemblerError


def read(path: Path, listing: Path | None = None) -> MachineCode:
    """Read a cubin. Raises CubinError or DisassemblerError, which say what to do.

    `listing`: a file that stores the disassembler's output for later calls.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CubinError(str(path), f"it cannot be read: {error.strerror}") from None
    return read_bytes(content, str(path), listing)


def read_bytes(content: bytes, name: str = "the cubin", listing: Path | None = None) -> MachineCode:
    """Read a cubin from memory; messages call it `name`."""
    found = elf.contents(content, name)
    return joined(found, listings.listing(content, name, listing), name)


def joined(found: elf.Contents, listing: Listing, name: str) -> MachineCode:
    """Join the ELF's contents with the disassembler's instructions."""
    functions = {
        symbol: _function(symbol, kernel, listing, name) for symbol, kernel in found.kernels.items()
    }
    return MachineCode(
        name, found.arch, functions, found.banks, found.variables, found.sections,
        tuple(found.addresses),
    )  # fmt: skip


def _function(symbol: str, kernel: elf.Kernel, listing: Listing, name: str) -> Function:
    places = {
        start: lines
        for function, (start, lines) in listing.items()
        if function == symbol or (start and kernel.entries.get(function) == start)
    }
    instructions: list[Instruction] = []
    for start, lines in sorted(places.items()):
        if start != len(instructions) * INSTRUCTION_BYTES:
            break  # the sum of the lengths is compared with the code's below
        for line in lines:
            address = len(instructions) * INSTRUCTION_BYTES
            encoding = kernel.code[address : address + INSTRUCTION_BYTES]
            location = kernel.lines.at(address)
            instructions.append(_instruction(line, address, encoding, location, name))
    if len(instructions) * INSTRUCTION_BYTES != len(kernel.code):
        raise DisassemblerError(
            f"{name}: nvdisasm lists {len(instructions)} instructions of `{symbol}`, whose code "
            f"has {len(kernel.code) // INSTRUCTION_BYTES}"
        )
    return Function(
        symbol, tuple(instructions), tuple(kernel.parameters), kernel.parameter_base,
        kernel.registers, kernel.shared_bytes, kernel.shared_start, kernel.local_bytes,
        kernel.max_threads, kernel.required_threads, kernel.cluster,
        kernel.entries | {symbol: 0}, kernel.banks,
    )  # fmt: skip


def _instruction(
    line: disassembler.Line, address: int, encoding: bytes, location: Location | None, name: str
) -> Instruction:
    text = " ".join(part for part in (line.guard, line.opcode, line.operands) if part)
    bits = int.from_bytes(encoding[4:8], "little")
    opcode, *modifiers = line.opcode.split(".")
    try:
        return Instruction(
            address, opcode, tuple(modifiers), operands.parse(line.operands, bits),
            operands.guard(line.guard), text, encoding, location,
        )  # fmt: skip
    except operands.NotAnOperand as error:
        raise DisassemblerError(
            f"{name}: nvdisasm writes `{text[:200]}` at {address:#x}, whose operand "
            f"`{str(error)[:100]}` is not in a form that is known here"
        ) from None
