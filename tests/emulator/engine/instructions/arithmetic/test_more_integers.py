"""Carries, dot products of bytes, masks and extensions, compared with Python's integers."""

from __future__ import annotations

import numpy as np
import pytest
from emulator_tools import CompilePtx, elementwise, ptx_kernel, run

from harness.emulator import parse

RANDOM = np.random.default_rng(21)
WORDS = np.concatenate([
    np.array([0, 1, 2, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFF, 0xAAAAAAAA], np.uint32),
    RANDOM.integers(0, 2**32, 500, dtype=np.uint64).astype(np.uint32),
])  # fmt: skip


def _shuffled() -> np.ndarray:
    return RANDOM.permutation(WORDS)


@pytest.mark.parametrize("width", [32, 64])
@pytest.mark.parametrize("operation", ["add", "sub", "mad.lo", "mad.hi"])
def test_carries_chain_through_three_words(operation: str, width: int) -> None:
    dtype, name = (np.uint32, "r") if width == 32 else (np.uint64, "l")
    words = RANDOM.integers(0, 2**63, (400, 9), dtype=np.uint64)
    words[:200] = RANDOM.choice(np.array([0, 1, 2**64 - 1, 2**31, 2**32 - 1], np.uint64), (200, 9))
    words = words.astype(dtype)
    base, _, part = operation.partition(".")
    part = f".{part}" if part else ""
    middle = "subc" if base == "sub" else base + "c"
    extra = ", %{0}{2}" if base == "mad" else ""
    lines = []
    for i, opcode in enumerate((base, middle, middle)):
        cc = ".cc" if i < 2 else ""
        third = extra.format(name, None, 7 + i)
        lines.append(f"{opcode}{part}{cc}.u{width} %{name}{10 + i}, %{name}{1 + i}, "
                     f"%{name}{4 + i}{third};")  # fmt: skip
    size = width // 8
    loads = "\n".join(f"ld.global.u{width} %{name}{i + 1}, [%a0+{i * size}];" for i in range(9))
    stores = "\n".join(f"st.global.u{width} [%a1+{i * size}], %{name}{10 + i};" for i in range(3))
    body = f"""
    ld.param.u64 %a0, [p0];
    mad.wide.u32 %a0, %i, {9 * size}, %a0;
    ld.param.u64 %a1, [p1];
    mad.wide.u32 %a1, %i, {3 * size}, %a1;
    {loads}
    {chr(10).join(lines)}
    {stores}"""
    out = np.zeros((400, 3), dtype)
    run(parse(ptx_kernel(body, ["u64", "u64"])), "k", 1, 400, [words, out])
    for row, found in zip(words.tolist(), out.tolist(), strict=True):
        carry, wanted = 0, []
        for a, b, c in zip(row[:3], row[3:6], row[6:], strict=True):
            if base == "sub":
                total = a - b - carry
                carry = int(total < 0)
            else:
                product = a * b
                term = product >> width if part == ".hi" else product % (1 << width)
                total = (a + b if base == "add" else term + c) + carry
                carry = total >> width
            wanted.append(total % (1 << width))
        assert found == wanted, row


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


@pytest.mark.parametrize("a_type", ["u32", "s32"])
@pytest.mark.parametrize("b_type", ["u32", "s32"])
@pytest.mark.parametrize("name", ["dp4a", "dp2a.lo", "dp2a.hi"])
def test_dot_products_of_packed_integers(name: str, a_type: str, b_type: str) -> None:
    a, b, c = _shuffled(), _shuffled(), _shuffled()
    found = elementwise(f"{name}.{a_type}.{b_type} $0, $1, $2, $3;",
                        [("b32", a), ("b32", b), ("b32", c)], "b32", np.uint32)  # fmt: skip
    width, count = (8, 4) if name == "dp4a" else (16, 2)
    first = 2 if name.endswith("hi") else 0
    for x, y, z, got in zip(a.tolist(), b.tolist(), c.tolist(), found.tolist(), strict=True):
        total = z
        for i in range(count):
            p, q = x >> (width * i) & ((1 << width) - 1), y >> (8 * (first + i)) & 0xFF
            p = _signed(p, width) if a_type == "s32" else p
            q = _signed(q, 8) if b_type == "s32" else q
            total += p * q
        assert got == total % 2**32


@pytest.mark.parametrize("mode", ["clamp", "wrap"])
def test_extension_and_masks_follow_the_manual(mode: str) -> None:
    a = _shuffled()
    n = RANDOM.integers(0, 40, len(a)).astype(np.uint32)
    b = RANDOM.integers(0, 40, len(a)).astype(np.uint32)
    sources = [("b32", a), ("b32", n)]
    unsigned = elementwise(f"szext.{mode}.u32 $0, $1, $2;", sources, "b32", np.uint32)
    signed = elementwise(f"szext.{mode}.s32 $0, $1, $2;", sources, "b32", np.uint32)
    masks = elementwise(f"bmsk.{mode}.b32 $0, $1, $2;", [("b32", b), ("b32", n)], "b32", np.uint32)
    for value, bits, start, plain, extended, mask in zip(
        a.tolist(), n.tolist(), b.tolist(), unsigned.tolist(), signed.tolist(), masks.tolist(),
        strict=True,
    ):  # fmt: skip
        count = bits % 32 if mode == "wrap" else min(bits, 32)
        assert plain == value & ((1 << count) - 1)
        assert extended == (_signed(value, count) % 2**32 if count else 0)
        at = start % 32 if mode == "wrap" else start
        ones = ((1 << count) - 1) << at
        assert mask == (ones % 2**32 if at < 32 else 0), (start, bits)


def test_the_nth_set_bit_is_counted_from_a_base_in_either_direction() -> None:
    words = _shuffled()
    base = RANDOM.integers(0, 32, len(words)).astype(np.uint32)
    offset = RANDOM.integers(-9, 10, len(words)).astype(np.int32)
    sources = [("b32", words), ("b32", base), ("b32", offset)]
    found = elementwise("fns.b32 $0, $1, $2, $3;", sources, "b32", np.uint32)
    for word, at, n, got in zip(words.tolist(), base.tolist(), offset.tolist(), found.tolist(),
                                strict=True):  # fmt: skip
        places = [i for i in range(32) if word >> i & 1]
        if n == 0:
            wanted = at if at in places else 2**32 - 1
        else:
            ahead = [i for i in places if (i >= at if n > 0 else i <= at)][:: 1 if n > 0 else -1]
            wanted = ahead[abs(n) - 1] if abs(n) <= len(ahead) else 2**32 - 1
        assert got == wanted


def test_registers_of_128_bits_are_loaded_taken_apart_and_stored() -> None:
    body = """.reg .b128 %q, %other;
    ld.param.u64 %a0, [p0]; mad.wide.u32 %a0, %i, 16, %a0;
    ld.global.b128 %q, [%a0]; mov.b128 %other, %q; mov.b128 {%l1, %l2}, %other;
    add.u64 %l1, %l1, 1; mov.b128 %q, {%l2, %l1}; st.global.b128 [%a0], %q;"""
    words = RANDOM.integers(0, 2**63, (64, 2), dtype=np.uint64)
    was = words.copy()
    run(parse(ptx_kernel(body, ["u64"])), "k", 1, 64, [words])
    assert (words[:, 0] == was[:, 1]).all()
    assert (words[:, 1] == was[:, 0] + 1).all()


def test_wide_integers_and_hints_as_nvcc_writes_them(compile_ptx: CompilePtx) -> None:
    source = r"""
    extern "C" __global__ void wide(const unsigned long long* x, unsigned long long* out) {
        int i = threadIdx.x;
        unsigned __int128 v = (unsigned __int128)x[2 * i] << 64 | x[2 * i + 1];
        v = v * v + x[0] - ((unsigned __int128)7 << 70);
        asm volatile("prefetch.global.L2 [%0];" :: "l"(x));
        __nanosleep(20);
        out[2 * i] = (unsigned long long)(v >> 64);
        out[2 * i + 1] = (unsigned long long)v;
    }
    extern "C" __global__ void dots(const int* a, const int* b, int* out) {
        int i = threadIdx.x;
        out[i] = __dp4a(a[i], b[i], __dp2a_hi(a[i], b[i], i));
    }"""
    words = RANDOM.integers(0, 2**63, 128, dtype=np.uint64)
    out = np.zeros(128, np.uint64)
    run(compile_ptx(source), "wide", 1, 64, [words, out])
    x, found = words.tolist(), out.tolist()
    for i in range(64):
        v = x[2 * i] << 64 | x[2 * i + 1]
        assert found[2 * i] << 64 | found[2 * i + 1] == (v * v + x[0] - (7 << 70)) % 2**128
    a, b = _shuffled()[:64].view(np.int32), _shuffled()[:64].view(np.int32)
    dots = np.zeros(64, np.int32)
    run(compile_ptx(source), "dots", 1, 64, [a, b, dots])
    bytes_a, bytes_b = a.view(np.int8).reshape(64, 4), b.view(np.int8).reshape(64, 4)
    words_a = a.view(np.int16).reshape(64, 2).astype(int)
    total = (bytes_a.astype(int) * bytes_b).sum(axis=1) + (words_a * bytes_b[:, 2:]).sum(axis=1)
    assert dots.tolist() == ((total + np.arange(64) + 2**31) % 2**32 - 2**31).tolist()


@pytest.mark.parametrize("kind", ["u32", "s32"])
@pytest.mark.parametrize("count", [4, 2])
def test_absolute_differences_of_packed_fields(count: int, kind: str) -> None:
    a, b, c = _shuffled(), _shuffled(), _shuffled()
    sources = [("b32", a), ("b32", b), ("b32", c)]
    opcode = f"vabsdiff{count}.{kind}.{kind}.{kind}"
    packed = elementwise(f"{opcode} $0, $1, $2, $3;", sources, "b32", np.uint32)
    summed = elementwise(f"{opcode}.add $0, $1, $2, $3;", sources, "b32", np.uint32)
    field = np.dtype(f"{'i' if kind == 's32' else 'u'}{4 // count}")
    fields = [v.view(field).reshape(-1, count).astype(int) for v in (a, b)]
    differences = np.abs(fields[0] - fields[1])
    unsigned = packed.view(f"u{4 // count}").reshape(-1, count)
    assert (unsigned == differences % 2 ** (32 // count)).all()
    assert (summed == (c + differences.sum(axis=1)) % 2**32).all()


def test_simd_within_a_word_as_nvcc_writes_it(compile_ptx: CompilePtx) -> None:
    source = r"""
    extern "C" __global__ void simd(const unsigned* a, unsigned* out) {
        unsigned i = threadIdx.x;
        out[2 * i] = __vsadu4(a[i], a[i + 1]);
        out[2 * i + 1] = __vabsdiffu4(a[i], a[i + 1]);
    }"""
    a, out = WORDS[:65], np.zeros((64, 2), np.uint32)
    run(compile_ptx(source), "simd", 1, 64, [a, out])
    fields = a.view(np.uint8).reshape(65, 4).astype(int)
    differences = np.abs(fields[:-1] - fields[1:])
    assert (out[:, 0] == differences.sum(axis=1)).all()
    assert (out[:, 1].copy().view(np.uint8).reshape(64, 4) == differences).all()


@pytest.mark.parametrize("opcode", ["add.u16x2", "add.s16x2", "min.u16x2", "max.s16x2",
                                    "min.s16x2", "max.relu.s16x2"])  # fmt: skip
def test_pairs_of_sixteen_bits(opcode: str) -> None:
    a, b = _shuffled(), _shuffled()
    found = elementwise(f"{opcode} $0, $1, $2;", [("b32", a), ("b32", b)], "b32", np.uint32)
    kind = np.int16 if "s16" in opcode else np.uint16
    x, y = a.view(kind).astype(int), b.view(kind).astype(int)
    wanted = {"add": np.add, "min": np.minimum, "max": np.maximum}[opcode[:3]](x, y)
    if "relu" in opcode:
        wanted = np.maximum(wanted, 0)
    assert (found.view(np.uint16) == wanted % 65536).all()


def test_the_larger_integer_or_zero() -> None:
    a, b = _shuffled(), _shuffled()
    for opcode in ("max.relu.s32", "max.s32.relu"):  # nvcc writes the latter
        found = elementwise(f"{opcode} $0, $1, $2;", [("b32", a), ("b32", b)], "b32", np.int32)
        assert (found == np.maximum(np.maximum(a.view(np.int32), b.view(np.int32)), 0)).all()


def test_a_sum_that_saturates_stays_in_the_range_of_its_type() -> None:
    low, high = -(1 << 31), (1 << 31) - 1
    values = np.array([low, low + 1, -7, -1, 0, 1, 99, high - 1, high], np.int32)
    a, b = (grid.reshape(-1) for grid in np.meshgrid(values, values))
    sources = [("b32", a), ("b32", b)]
    for name, sign in (("add", 1), ("sub", -1)):
        found = elementwise(f"{name}.sat.s32 $0, $1, $2;", sources, "b32", np.int32)
        exact = a.astype(np.int64) + sign * b.astype(np.int64)
        assert (found == np.clip(exact, low, high)).all()
