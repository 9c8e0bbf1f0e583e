"""The refusal of a candidate that cannot be judged. It names the construct that cannot be read or
emulated."""

from __future__ import annotations


class Refused(Exception):
    """The launches of a candidate cannot be determined; the message gives the reason."""
