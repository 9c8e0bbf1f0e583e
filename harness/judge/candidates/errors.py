"""The error for a candidate that cannot be judged."""

from __future__ import annotations


class Refused(Exception):
    """The launches of a candidate cannot be determined; the message gives the reason."""
