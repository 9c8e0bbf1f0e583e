"""The Indigo suite in HiRace's version: graph kernels with barriers, guards, atomics or bounds
checks left out.

The sources are HiRace's, without the calls to its own detector. A kernel's name describes its
fault.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fault_suites.kernels import BOUNDS, RACE, Kernel

VERTICES = 40


@dataclass(frozen=True)
class Graph:
    """The neighbours of all vertices in one list, and the position at which each vertex's
    neighbours begin."""

    starts: np.ndarray
    ends: np.ndarray

    @property
    def vertices(self) -> int:
        return len(self.starts) - 1


def by_blocks(clone: Path) -> Iterator[Kernel]:
    """Kernels that use shared memory and may lack barriers: 8 blocks of 64 threads on a small
    graph. Their arrays are longer than necessary."""
    graph = _small_graph()
    random = np.random.default_rng(6)
    data = {"data1": np.full(4096, 25), "data2": random.integers(0, 50, 4096)}
    for path in _sources(clone, "*_block"):
        if "boundsBug" not in path.stem:
            yield _kernel(path, graph, data, 8, 64)


def all_of_them(clone: Path, bounds: bool) -> Iterator[Kernel]:
    """All kernels, each launched with 200 blocks of 256 threads on a graph of the suite, with
    arrays of that graph's size.

    `bounds`: select kernels that access memory out of bounds, instead of the others.
    """
    graph = _read_graph(clone / "indigo" / "input" / "power_law_200n_1000e.egr")
    length = max(graph.vertices, len(graph.ends))
    random = np.random.default_rng(6)
    most = {"data1": graph.vertices, "data2": len(graph.ends)}
    data = {name: random.integers(0, n, length) for name, n in most.items()}
    for values in data.values():
        values[0] = 0
    for path in _sources(clone, "*"):
        if ("boundsBug" in path.stem) == bounds:
            yield _kernel(path, graph, data, 200, 256)


def _sources(clone: Path, folders: str) -> list[Path]:
    return sorted((clone / "indigo" / "indigo_hirace_sources").glob(f"{folders}/*.cu"))


def _kernel(path: Path, graph: Graph, data: dict[str, Any], grid: int, block: int) -> Kernel:
    faults: frozenset[str] = frozenset()
    if "boundsBug" in path.stem:
        faults |= BOUNDS
    if "Bug" in path.stem.replace("boundsBug", ""):
        faults |= RACE
    known = {"nindex": graph.starts, "nlist": graph.ends, **data}
    source = _without_detector(path.read_text())
    found = re.search(r"__global__ void \w+\((.*?)\)", source, re.DOTALL)
    assert found
    names = [(p.split()[-1].strip("*"), "*" in p) for p in found[1].split(",")]

    def arguments() -> list[Any]:
        return [known[n].astype(np.int32) if array else graph.vertices for n, array in names]

    return Kernel(path.stem, source, faults, grid, block, arguments)


def _without_detector(text: str) -> str:
    text = re.sub(r"HIRACE START.*?HIRACE END", "", text, flags=re.DOTALL)
    text = re.sub(r", *hr_shadowt\* *__hr_metadata_\w+", "", text)
    text = re.sub(r"__hr_[bw]count\+\+;", "", text)
    text = re.sub(r"HiRaceDataWrap<(\w+)> address", r"\1* address", text)
    text = re.sub(r"__hr_(\w+)", r"\1", text)
    types = "\n".join(re.findall(r"typedef .*?;", text))
    sizes = "static const int ThreadsPerBlock = 64, WS = 32, warpsize = 32;"
    kernel = text[text.index("__global__") : text.index("void serial_code")]
    before = text[text.index('"indigo_cuda.h"') + len('"indigo_cuda.h"') : text.index("__global__")]
    return "\n".join(part for part in (types, sizes, before.strip(), kernel) if part)


def _small_graph() -> Graph:
    random = np.random.default_rng(5)
    degrees = random.integers(0, 7, VERTICES)
    starts = np.concatenate([[0], np.cumsum(degrees)])
    ends = np.concatenate([*(np.sort(random.integers(0, VERTICES, d)) for d in degrees), [0]])
    return Graph(starts, ends)


def _read_graph(path: Path) -> Graph:
    """Read a graph file in ECL's format: the numbers of vertices and edges, where each vertex's
    edges start, and where the edges end."""
    numbers = np.fromfile(path, np.int32)
    vertices = int(numbers[0])
    return Graph(numbers[2 : 3 + vertices], numbers[3 + vertices :])
