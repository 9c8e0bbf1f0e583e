"""Pages as a reader sees them: their text and their links."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

from harness import report
from harness.tables import Run

VOID = {"meta", "link", "br", "img", "input", "hr", "wbr"}


class Page(HTMLParser):
    """One page: its text, its ids and its links."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.ids: list[str] = []
        self.links: list[str] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.source = path.read_text(encoding="utf-8")
        self.feed(self.source)
        # A name may be broken after each underscore.
        self.text = re.sub(r"\s+", " ", " ".join(self.words)).replace("_ ", "_")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name in {"href", "src", "xlink:href", "srcset"}:
                self.links.append(value or "")
            elif name in {"title", "aria-label", "data-tip"}:
                self.words.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in {"style", "script"}:
            self.words.append(data)


class Site:
    """All pages of a report."""

    def __init__(self, run: Run) -> None:
        self.folder = run.folder
        self.home = Page(report.write(run))
        folder = run.folder / "problems"
        self.problems = {path.stem: Page(path) for path in sorted(folder.glob("*.html"))}

    @property
    def pages(self) -> list[Page]:
        return [self.home, *self.problems.values()]

    @property
    def only(self) -> Page:
        """The page of the only problem."""
        [page] = self.problems.values()
        return page


def plain(text: str) -> str:
    """The text of markup, without tags and with ordinary spaces."""
    return re.sub(r"<[^>]+>", "", text).replace("\u202f", " ")
