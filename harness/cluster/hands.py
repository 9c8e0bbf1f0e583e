"""The workers of a cluster as the hands of a run: a sweep over the pieces of each stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness.build.compile import Built
from harness.cases import Device
from harness.cluster import store
from harness.cluster.crew import Crew, Member
from harness.cluster.errand import Errand
from harness.cluster.sweep import Sweep
from harness.cluster.view import viewed
from harness.run.site import Piece, Site


class ClusterHands:
    """The members of a crew that have one kind of card. prefix: what stands before what is said."""

    def __init__(self, crew: Crew, kind: Device, prefix: str = "") -> None:
        self._crew, self._kind, self._prefix = crew, kind, prefix
        self._sent = Sent(crew)

    def carry_out(self, title: str, site: Site, pieces: Sequence[Piece]) -> dict[str, str]:
        """Raises ClusterLost where nobody is left to do them, DeviceLost where no card is.

        Nothing is timed while anything of the whole run is still compiled or emulated.
        """
        if not pieces:
            return {}
        if any(piece.kind != "qualify" for piece in pieces):
            self._crew.have_qualified(self._kind)
            self._crew.wait_for_others()
        with viewed(self._prefix + title, len(pieces)) as view:
            sweep = Sweep(self._crew, self._kind, site, pieces, view, self._sent)
            try:
                return sweep.carry_out()
            except BaseException:
                sweep.stop()
                raise


class Sent:
    """Errands, with the compiled files that they need: each is sent to a worker once."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._names: dict[Path, str] = {}
        self._files: dict[str, Path] = {}

    def errand(self, piece: Piece, site: Site, member: Member, cores: int) -> Errand:
        device = member.about.device
        used = {case.id for case in (*piece.cases, *piece.tests)}
        built = {case: self._named(b) for case, b in site.built.items() if case in used}
        setting = replace(site.setting, kernels=site.setting.kernels.absolute())
        records = tuple(site.known.about(piece.cases)) if piece.kind == "measure" else ()
        made = Errand(
            self._crew.attempt, self._crew.key(piece.kind), piece, setting, records, built, cores,
            member.about.gpu, device.bus if device else "",
        )  # fmt: skip
        self._deliver(made, member)
        return made

    def _deliver(self, errand: Errand, member: Member) -> None:
        """What the worker's host has not got yet."""
        names = {path.name for b in errand.built.values() for path in (b.ptx, b.cubin)}
        if unknown := sorted(names - member.delivered):
            said = self._crew.ask(store.lacking, errand.attempt, unknown, of=[member])
            if missing := said.get(member.address, []):
                files = {name: self._files[name].read_bytes() for name in missing}
                self._crew.ask(store.take, errand.attempt, files, of=[member])
            member.delivered |= names

    def _named(self, built: Built) -> Built:
        """With files named by what they hold."""
        return replace(built, ptx=self._name(built.ptx), cubin=self._name(built.cubin))

    def _name(self, path: Path) -> Path:
        if path not in self._names:
            name = self._names[path] = store.name_of(path.read_bytes(), path.suffix)
            self._files[name] = path
        return Path(self._names[path])
