"""Functions that try to win without doing the work, each with an honest twin that looks like it.

function_endings.yaml has the outcome of each. Cheats behave honestly while they are verified.
"""

from __future__ import annotations

import gc
import glob
import os
import sys
import tempfile
import threading
import types
from collections import Counter

import torch

HONEST_CALLS = 20
"""The number of calls after which cheating begins, so that verified results are right."""

calls: Counter[str] = Counter()
kept: dict[object, torch.Tensor] = {}
own: dict[object, object] = {}


def on(stream):
    return torch.cuda.stream(torch.cuda.ExternalStream(stream))


def add_up(tensors) -> None:
    torch.sum(tensors["x"], dim=0, keepdim=True, out=tensors["total"])


def cheats_now(name: str) -> bool:
    calls[name] += 1
    return calls[name] > HONEST_CALLS


def answer(tensors, key) -> torch.Tensor:
    """The memory for a stored result, allocated in the first, untimed calls."""
    if key not in kept:
        kept[key] = torch.empty_like(tensors["total"])
    return kept[key]


# Kept answers


def keeps_by_count(tensors, stream):
    with on(stream):
        mine = answer(tensors, "by count")
        if cheats_now("by count"):
            tensors["total"].copy_(mine)
        else:
            add_up(tensors)
            mine.copy_(tensors["total"])


def counts_its_calls(tensors, stream):
    calls["honest"] += 1
    with on(stream):
        add_up(tensors)


def keeps_by_address(tensors, stream):
    with on(stream):
        key = tensors["x"].data_ptr(), tensors["total"].data_ptr()
        known = key in kept
        mine = answer(tensors, key)
        if known and cheats_now("by address"):
            tensors["total"].copy_(mine)
        else:
            add_up(tensors)
            mine.copy_(tensors["total"])


def keeps_scratch_by_address(tensors, stream):
    with on(stream):
        mine = answer(tensors, ("scratch", tensors["x"].data_ptr()))
        torch.sum(tensors["x"], dim=0, keepdim=True, out=mine)
        tensors["total"].copy_(mine)


def keeps_by_first_element(tensors, stream):
    with on(stream):
        first = tensors["x"][0].item()
        if first in kept:
            tensors["total"].copy_(kept[first])
        else:
            add_up(tensors)
            kept[first] = tensors["total"].clone()


def reads_first_element(tensors, stream):
    with on(stream):
        tensors["x"][0].item()
        add_up(tensors)


def leaves_output(tensors, stream):
    if not cheats_now("leaves output"):
        with on(stream):
            add_up(tensors)


def writes_output_twice(tensors, stream):
    with on(stream):
        tensors["total"].zero_()
        add_up(tensors)


def reads_part_later(tensors, stream):
    x, total = tensors["x"], tensors["total"]
    with on(stream):
        if cheats_now("reads part"):
            torch.sum(x[: len(x) // 2], dim=0, keepdim=True, out=total)
            total.mul_(2)
        else:
            add_up(tensors)


def adds_two_halves(tensors, stream):
    x, total = tensors["x"], tensors["total"]
    with on(stream):
        mine = answer(tensors, "second half")
        torch.sum(x[: len(x) // 2], dim=0, keepdim=True, out=total)
        torch.sum(x[len(x) // 2 :], dim=0, keepdim=True, out=mine)
        total.add_(mine)


# Work elsewhere


def _side() -> torch.cuda.Stream:
    return own.setdefault("side", torch.cuda.Stream())


def works_on_a_side_stream(tensors, stream):
    with on(stream):
        begun = torch.cuda.Event()
        begun.record()
    side = _side()
    with torch.cuda.stream(side):
        side.wait_event(begun)
        add_up(tensors)
    calls["side"] += 1
    if calls["side"] <= HONEST_CALLS:
        torch.cuda.ExternalStream(stream).wait_stream(side)


def joins_a_side_stream(tensors, stream):
    main, side = torch.cuda.ExternalStream(stream), _side()
    side.wait_stream(main)
    with torch.cuda.stream(side):
        add_up(tensors)
    main.wait_stream(side)


def _ahead(x, mine, stop):
    with torch.cuda.stream(torch.cuda.Stream()):
        while not stop.is_set():
            torch.sum(x, dim=0, keepdim=True, out=mine)
            torch.cuda.current_stream().synchronize()


def works_ahead_in_a_thread(tensors, stream):
    with on(stream):
        mine = answer(tensors, ("thread", tensors["x"].data_ptr()))
        if cheats_now("thread"):
            if "thread" not in own:
                own["stop"] = threading.Event()
                own["thread"] = threading.Thread(
                    target=_ahead, args=(tensors["x"], mine, own["stop"]), daemon=True
                )
                own["thread"].start()
            tensors["total"].copy_(mine)
        else:
            add_up(tensors)
            mine.copy_(tensors["total"])


def has_a_thread(tensors, stream):
    if "idle thread" not in own:
        own["idle thread"] = threading.Thread(target=threading.Event().wait, daemon=True)
        own["idle thread"].start()
    with on(stream):
        add_up(tensors)


def replays_a_graph_of_a_copy(tensors, stream):
    key = "copy graph", tensors["x"].data_ptr(), tensors["total"].data_ptr()
    with on(stream):
        mine = answer(tensors, key)
        if key not in own:
            own[key] = _graph(lambda: tensors["total"].copy_(mine))
        if cheats_now("graph"):
            own[key].replay()
        else:
            add_up(tensors)
            mine.copy_(tensors["total"])


def replays_a_graph_of_the_sum(tensors, stream):
    x, total = tensors["x"], tensors["total"]
    key = "sum graph", x.data_ptr(), x.numel(), total.data_ptr()  # freed memory is reused
    with on(stream):
        if key not in own:
            add_up(tensors)
            own[key] = _graph(lambda: add_up(tensors))
        own[key].replay()


def _graph(work) -> torch.cuda.CUDAGraph:
    """Capture the work as a CUDA graph, in a first call, which is allowed to synchronise."""
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        work()
    torch.cuda.synchronize()
    return graph


# Results that are not computed in time


class Lazy(torch.Tensor):
    """A tensor that computes its sum when it is copied, which is after the last event."""

    @classmethod
    def __torch_function__(cls, function, kinds, args=(), kwargs=None):
        plain = [a.as_subclass(torch.Tensor) if isinstance(a, Lazy) else a for a in args]
        if function is torch.Tensor.copy_:
            plain[1] = own["lazy input"].sum().reshape(plain[1].shape)
        return function(*plain, **(kwargs or {}))


def returns_a_lazy_tensor(tensors):
    own["lazy input"] = tensors["x"]
    return torch.empty_like(tensors["total"]).as_subclass(Lazy)


def returns_a_tensor(tensors):
    return torch.sum(tensors["x"], dim=0, keepdim=True)


def aliases_its_output(tensors, stream):
    with on(stream):
        if cheats_now("alias"):
            tensors["total"] = tensors["x"][:1]
        else:
            add_up(tensors)


def views_its_output(tensors, stream):
    with on(stream):
        total = tensors["total"].view(1, 1)
        torch.sum(tensors["x"].view(1, -1), dim=1, keepdim=True, out=total)


# Attacks on the timer and the judge


def patches_the_clock(tensors, stream):
    import pycuda.driver as cuda

    if cheats_now("clock"):
        cuda.Event.time_since = lambda self, other: 0.001
    with on(stream):
        add_up(tensors)


def has_events_of_its_own(tensors, stream):
    with on(stream):
        torch.cuda.Event(enable_timing=True).record()
        add_up(tensors)


def patches_the_checks(tensors, stream):
    from harness.backends import base, launch_outcomes

    if cheats_now("checks"):
        launch_outcomes.Launched.judged = lambda self, right, changed: base.Batch(
            tuple(map(tuple, self.times))
        )
    else:
        with on(stream):
            add_up(tensors)


def defines_judged(tensors, stream):
    own["judged"] = type("Launched", (), {"judged": lambda self: None})
    with on(stream):
        add_up(tensors)


def replaces_a_module(tensors, stream):
    if cheats_now("module"):
        sys.modules["harness.measure.rounds"] = types.ModuleType("harness.measure.rounds")
    with on(stream):
        add_up(tensors)


def adds_a_module(tensors, stream):
    sys.modules.setdefault("a_module_of_its_own", types.ModuleType("a_module_of_its_own"))
    with on(stream):
        add_up(tensors)


def forges_the_pipe(tensors, stream):
    if cheats_now("pipe") and "forged" not in own:
        own["forged"] = True
        every = gc.get_objects()
        pipe = next(each for each in every if type(each).__name__ == "Pipe")
        job = next(each for each in every if type(each).__name__ == "Job")
        case = next(c.id for c in job.cases if c.variant == "forges_the_pipe")
        for number in range(job.rounds):
            pipe._line("record", (
                f'{{"case":"{case}","cache":"cold","round":{number},"repeat":false,'
                f'"samples_ns":[1.0],"placement":{job.placement},"kind":"round"}}'
            ))  # fmt: skip
    with on(stream):
        add_up(tensors)


def prints_a_record(tensors, stream):
    print('record {"kind":"round"}')
    with on(stream):
        add_up(tensors)


def forges_the_journal(tensors, stream):
    """Write into a `journal.jsonl` that any process of this user has open."""
    if cheats_now("journal") and "written" not in own:
        own["written"] = True
        for link in glob.glob("/proc/[0-9]*/fd/*"):
            try:
                path = os.readlink(link)
                if path.endswith("/journal.jsonl") and os.environ["CHEATS"] in path:
                    with open(path, "a") as file:
                        file.write("\n")
            except OSError:
                continue
    with on(stream):
        add_up(tensors)


def writes_a_file(tensors, stream):
    if "file" not in own:
        own["file"] = tempfile.TemporaryFile()  # noqa: SIM115
    own["file"].write(b"journal.jsonl\n")
    with on(stream):
        add_up(tensors)
