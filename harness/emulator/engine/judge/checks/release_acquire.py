"""What a thread may take from another after a fence and an atomic: tickets, locks, flags.

A thread that executes an atomic (or a volatile store) publishes, under that word, what its block
did before the thread's last fence. A thread that then executes an atomic or a volatile load on the
word acquires it for its block; for its warp where the publisher is of the same block, and for
itself where it is of the same warp. This is more generous than CUDA's memory model, which also asks
for a barrier between the other threads of a block and the one that publishes or acquires, and for
the acquiring access to have seen the publishing one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.emulator.engine.judge.lanes import WARP

_MOST_BLOCKS = 4096


# Thread, its last fence, its last fence that reaches other blocks, when it was published.
Published = tuple[int, int, int, int]


@dataclass
class _Word:
    """What was published under it, by block."""

    published: dict[int, list[Published]] = field(default_factory=dict)


class ReleaseAcquire:
    """All words of a launch that were used so."""

    def __init__(self) -> None:
        self._words: dict[int, _Word] = {}
        self._acquired: dict[int, dict[int, dict[int, int]]] = {}
        self._acquired_in_block: dict[int, dict[int, dict[int, int]]] = {}

    @property
    def used(self) -> bool:
        return bool(self._words)

    def publish(self, word: int, block: int, entry: Published) -> None:
        entries = self._words.setdefault(word, _Word()).published.setdefault(block, [])
        if not entries or entries[-1][:3] != entry[:3]:
            entries.append(entry)

    def acquire(self, word: int, block: int, thread: int, now: int, *, wide: bool) -> None:
        """`wide`: from other blocks, too."""
        if word in self._words:
            self._acquired_in_block.setdefault(block, {}).setdefault(word, {})[thread] = now
            if wide:
                self._acquired.setdefault(block, {}).setdefault(word, {})[thread] = now

    def between_blocks(self, earlier: int, when: int, later: int) -> bool:
        """Whether block `later` may see what block `earlier` did at a time, if need be by way of
        other blocks."""
        todo, seen = [later], {later}
        while todo:
            for word, threads in self._acquired.get(todo.pop(), {}).items():
                latest = max(threads.values())
                published = self._words[word].published
                entries = published.get(earlier, ())
                if any(wide > when and at <= latest for _, _, wide, at in entries):
                    return True
                if len(seen) < _MOST_BLOCKS:
                    more = [b for b in published if b not in seen]
                    todo += more
                    seen.update(more)
        return False

    def within_block(self, block: int, earlier: int, when: int, later: int) -> bool:
        """The same between two threads of a block."""
        same_warp = earlier // WARP == later // WARP
        for word, threads in self._acquired_in_block.get(block, {}).items():
            times = [
                at
                for thread, at in threads.items()
                if (thread == later if same_warp else thread // WARP == later // WARP)
            ]
            if not times:
                continue
            latest = max(times)
            for thread, fence, _, at in self._words[word].published.get(block, ()):
                publisher = thread == earlier if same_warp else thread != later
                if publisher and fence > when and at <= latest:
                    return True
        return False
