"""Why a candidate cannot be judged. A refusal names what it is that cannot be read or emulated."""

from __future__ import annotations


class Refused(Exception):
    """The launches of a candidate cannot be known; the message says because of what."""
