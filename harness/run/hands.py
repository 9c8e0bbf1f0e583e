"""Who does the pieces of a run: this machine's cores and GPU. Others do so in harness/cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any, Protocol

from harness.cases import Device
from harness.measure.card import Card
from harness.progress import stage
from harness.run.cores import Cores
from harness.run.site import Piece, Site


class Hands(Protocol):
    def carry_out(self, title: str, site: Site, pieces: Sequence[Piece]) -> dict[str, str]:
        """Do all pieces of a stage, which are of one kind; what became of each, by its name.

        The site keeps their records. Raises DeviceLost.
        """
        ...


@dataclass(frozen=True)
class Place:
    """Where a run takes place. card, driver: of the GPU that times; driver: if it is not here.

    cluster: what run.json says of the workers, where there are any.
    """

    backend: str
    device: Device
    hands: Hands
    card: Card | None = None
    driver: str | None = None
    cluster: Mapping[str, Any] | None = None


class OwnCores:
    """The cores of this machine: nothing that is timed runs beside anything else.

    jobs: how many cores workers and their emulated launches share.
    """

    def __init__(self, jobs: int) -> None:
        self._cores = Cores(jobs)

    @property
    def cores(self) -> int:
        return self._cores.total

    def carry_out(self, title: str, site: Site, pieces: Sequence[Piece]) -> dict[str, str]:
        with stage(title, len(pieces)) as advance:
            if all(piece.kind in ("qualify", "count") for piece in pieces):
                return self._several(site, pieces, advance)
            return self._in_turn(site, pieces, advance)

    def _in_turn(
        self, site: Site, pieces: Sequence[Piece], advance: Callable[[str], None]
    ) -> dict[str, str]:
        found = {}
        site.keeps_processes = True
        try:
            for piece in pieces:
                found[piece.name] = site.carry_out(piece)
                advance(f"{piece.name}  {found[piece.name] or 'measured'}")
        finally:
            site.keeps_processes = False
            site.workers.dismiss()
        return found

    def _several(
        self, site: Site, pieces: Sequence[Piece], advance: Callable[[str], None]
    ) -> dict[str, str]:
        """At a time: nothing is timed here."""
        found = {}
        with ThreadPoolExecutor(max_workers=self._cores.total) as pool:
            self._cores.expect(len(pieces))
            site.slots.at_most(self._cores.total)
            try:
                pending = {pool.submit(self._on_some, site, each): each for each in pieces}
                for future in as_completed(pending):
                    piece = pending[future]
                    found[piece.name] = future.result()
                    advance(f"{piece.name}  {found[piece.name]}")
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                site.workers.stop()
                raise
        return found

    def _on_some(self, site: Site, piece: Piece) -> str:
        with self._cores.some() as cores:
            return site.carry_out(piece, cores)
