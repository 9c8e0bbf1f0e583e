"""Stable anchors: a case has the same link in every report, and a figure the same file name."""

from __future__ import annotations

import re


def slug(text: str) -> str:
    """A case id, metric or title as an HTML id and file name."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-")


def case_anchor(case: str) -> str:
    return f"case-{slug(case)}"


def counter_anchor(metric: str) -> str:
    return f"counter-{slug(metric)}"


def short_names(variants: list[str]) -> dict[str, str]:
    """`v12` for `v12_single_pass_last_block` where no other variant starts so, else its name."""
    heads = [name.split("_")[0] for name in variants]
    return {
        name: head if heads.count(head) == 1 else name
        for name, head in zip(variants, heads, strict=True)
    }
