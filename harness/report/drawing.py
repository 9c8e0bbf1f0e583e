"""Draw the pages of a report's problems on all cores: a figure takes a quarter of a second."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor

from harness.processes.fork_server import die_with_the_parent
from harness.report.links import Links
from harness.report.pages.problem import Maker, ProblemPage

FEW = 4
"""The minimum number of pages per process at which several processes draw them."""

_given: list[Maker] = []
"""The page maker, stored before the fork, so that each forked process finds it here."""


def pages(maker: Maker, links: Mapping[str, Links]) -> list[ProblemPage]:
    """Draw each problem's page. `links`: problem → the links on its page."""
    cores = min(len(os.sched_getaffinity(0)), len(links))
    if len(links) < FEW or cores < 2 or not _is_alone():
        return [maker.page(problem, own) for problem, own in links.items()]
    pool = ProcessPoolExecutor(
        cores, multiprocessing.get_context("fork"), initializer=_begin, initargs=(maker,)
    )
    try:
        return list(pool.map(_page, links, links.values()))
    finally:
        pool.shutdown(cancel_futures=True)


def _is_alone() -> bool:
    """Return whether this is the only thread. A lock that another thread held would never be
    released in a fork."""
    return threading.active_count() == 1


def _begin(maker: Maker) -> None:
    die_with_the_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # only the parent handles Ctrl-C
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    _given.append(maker)


def _page(problem: str, links: Links) -> ProblemPage:
    return _given[0].page(problem, links)
