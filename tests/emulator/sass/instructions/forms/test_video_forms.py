"""Video instructions in ptxas's machine code, which shows why some of their forms are rejected.

The instructions' definitions are those of the manual. A form is supported if and only if the
machine code agrees with its definition: if this changes with another ptxas, the list in
`decode/arithmetic/video.py` has to change as well.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from emulator_tools import ptx_kernel
from reference.video import meaning
from sass.conftest import ReadSource

from harness.emulator import UnknownInstruction, launch, parse
from harness.emulator.sass import launch_machine_code

RANDOM = np.random.default_rng(4)
COUNT = 1024
TYPES = ("u32", "s32")
FORMS = [
    (name, mode, types, sat, second)
    for name in ("vadd", "vsub", "vabsdiff", "vmin", "vmax", "vshl", "vshr", "vset")
    for mode in ({"vshl": ("clamp", "wrap"), "vshr": ("clamp", "wrap"), "vset": ("lt", "ne")}).get(
        name, ("",)
    )
    for types in itertools.product(*([TYPES[:1]] if name == "vset" else [TYPES]), TYPES,
                                   TYPES[:1] if name.startswith("vsh") else TYPES)
    for sat in (("",) if name == "vset" else ("", "sat"))
    for second in ("", "add", "min", "max")
]  # fmt: skip
PLACES = [("vadd", "", types, "", place) for types in itertools.product(TYPES, repeat=3)
          for place in ("b0", "b3", "h0", "h1")]  # fmt: skip
MULTIPLICATIONS = [
    ("vmad", negated, types, sat, scale)
    for negated in ("", "product", "c", "po")
    for types in itertools.product(TYPES, repeat=3)
    for sat in ("", "sat")
    for scale in ("", "shr7", "shr15")
]
Form = tuple[str, str, tuple[str, ...], str, str]


def _text(form: Form) -> str:
    name, mode, types, sat, last = form
    if name == "vmad":
        words = [name, *types, "po" * (mode == "po"), sat, last]
        a, c = "-" * (mode == "product"), "-" * (mode == "c")
        return f"{'.'.join(w for w in words if w)} $0, {a}$1, $2, {c}$3;"
    place = f".{last}" if last and last[-1].isdigit() else ""
    words = [name, *(types[1:] if name == "vset" else types), sat, mode, last * (not place)]
    return f"{'.'.join(w for w in words if w)} $0{place}, $1, $2{', $3' * (last != '')};"


def _words() -> np.ndarray:
    noise = RANDOM.integers(0, 2**32, COUNT, dtype=np.uint64).astype(np.uint32)
    edges = RANDOM.choice(np.array([0, 1, 33, 2**31 - 1, 2**31, 2**32 - 1], np.uint32), COUNT)
    return np.where(RANDOM.random(COUNT) < 0.3, edges, noise)


def _manual(form: Form, a: list[int], b: list[int], c: list[int]) -> list[int]:
    name, mode, types, sat, last = form
    if name == "vmad":
        says = meaning(name, mode, types, sat, last, "", "")  # type: ignore[arg-type]
    else:
        place = last if last[-1:].isdigit() else ""
        second = "" if place else last
        says = meaning(name, mode, types, sat, second, place, "", "")  # type: ignore[arg-type]
    return [says(*each) % 2**32 for each in zip(a, b, c, strict=True)]


def _is_refused(form: Form) -> bool:
    text = _text(form)
    for n in range(4):
        text = text.replace(f"${n}", f"%r{n}")
    operands = "mov.u32 %r1, 1; mov.u32 %r2, 1; mov.u32 %r3, 1; "
    try:
        return bool(launch(parse(ptx_kernel(operands + text)), "k", 1, 1, []).faults)
    except UnknownInstruction as error:
        return "ptxas does not make" in str(error)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("forms", [FORMS, PLACES, MULTIPLICATIONS], ids=["all", "places", "vmad"])
def test_a_form_is_known_where_the_machine_code_does_what_the_manual_says(
    read_source: ReadSource, forms: list[Form], arch: str
) -> None:
    lines = []
    for n, form in enumerate(forms):
        text = _text(form)
        for operand in range(3, -1, -1):
            text = text.replace(f"${operand}", f"%{operand}")
        lines.append(f'asm("{text}" : "=r"(d) : "r"(a), "r"(b), "r"(c)); o[{n} * {COUNT}] = d;')
    kernel = "\n".join(lines)
    source = f"""extern "C" __global__ void k(const unsigned* x, unsigned* o) {{
        unsigned i = blockIdx.x * 256 + threadIdx.x, d;
        unsigned a = x[i], b = x[i + {COUNT}], c = x[i + {2 * COUNT}];
        o += i; {kernel} }}"""
    words = np.concatenate([_words(), _words(), _words()])
    out = np.zeros((len(forms), COUNT), np.uint32)
    code = read_source(source, arch)
    report = launch_machine_code(code, "k", COUNT // 256, 256, [words, out])
    assert not report.faults, report.faults[0]
    operands = words.reshape(3, COUNT).tolist()
    differing = {f for f, found in zip(forms, out.tolist(), strict=True)
                 if found != _manual(f, *operands)}  # fmt: skip
    # Where either .min or .max is wrong, the other is right only by chance.
    differing |= {(*f[:4], {"min": "max", "max": "min"}.get(f[4], f[4])) for f in differing}
    refused = {form for form in forms if _is_refused(form)}
    assert sorted(map(_text, refused)) == sorted(map(_text, differing))
