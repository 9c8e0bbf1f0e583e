"""A fault on its way from where it is found to the launch."""

from __future__ import annotations

from harness.emulator.engine.judge.lanes import Active


class KernelFault(Exception):
    """Carries a fault from where it is found to the launch, which fills in the rest."""

    def __init__(self, kind: str, message: str, site: int, lanes: Active, position: int) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.site = site
        self.lanes = lanes
        self.position = position
