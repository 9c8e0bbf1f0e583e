"""The targets of links. Anchors are the same whether the pages are separate files or one file."""

from __future__ import annotations

from dataclasses import dataclass

from harness.report.anchors import counter_anchor


@dataclass(frozen=True)
class Links:
    """Links from one page. `slugs`: problem → its page's name without the extension.

    `root`: the path to the run's folder, `../` from a problem's page; None if all is one file.
    `here`: the problem of this page; empty on the overview. `shared`: the path from the run's
    folder to the files that its pages share, such as their style.
    """

    slugs: dict[str, str]
    root: str | None
    here: str = ""
    shared: str = "assets/"

    def overview(self, anchor: str = "top") -> str:
        if self.root is None or not self.here:
            return f"#{anchor}"
        return f"{self.root}report.html#{anchor}"

    def problem(self, problem: str, anchor: str = "") -> str:
        """The link to a problem's page, or to a place on it."""
        slug = self.slugs[problem]
        if self.root is None or problem == self.here:
            return f"#{anchor or f'problem-{slug}'}"
        return f"{self.root}problems/{slug}.html{f'#{anchor}' if anchor else ''}"

    def counter(self, metric: str) -> str:
        """The link to the explanation of a counter."""
        return self.overview(counter_anchor(metric))

    @property
    def assets(self) -> str:
        """The path to style, scripts and chart library; empty for a page on its own."""
        return "" if self.root is None else f"{self.root}{self.shared}"

    def file(self, path: str) -> str:
        """The link to a file in the run's folder; empty if the page stands alone."""
        return "" if self.root is None else f"{self.root}{path}"
