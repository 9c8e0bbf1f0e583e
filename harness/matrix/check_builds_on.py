"""Check `builds_on`: the variant of the same problem that each variant improves on.

The references form a tree. A case's own parent, of the same size and type, is found in
harness/statistics/builds_on.py.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.console.suggestions import did_you_mean
from harness.files.strict_yaml import YamlLocation
from harness.matrix.variants import Variant


def check(variants: Mapping[str, Variant], problem: YamlLocation) -> None:
    """Check that each variant's parent exists, and that the chain of parents ends at a root.

    Raises ConfigError with the location of the invalid `builds_on:`.
    """
    for name in variants:
        seen = [name]
        while above := variants[seen[-1]].builds_on:
            at = problem.at("variants", seen[-1], "builds_on")
            if above not in variants:
                near = did_you_mean(above, [v for v in variants if v != seen[-1]])
                raise at.error(f"`{above}` is not a variant{near}")
            if above in seen:
                raise at.error("it builds on itself: " + " → ".join([*seen, above]))
            seen.append(above)
