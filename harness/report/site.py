"""The files of a report: the pages and the files that they share, or everything in a single file.

A run's folder gets report.html, problems/<problem>.html, and assets/ with the style, the
scripts and the chart library, one copy for all. Packed runs share one copy, in the folder that
contains them. Apart from this, nothing refers to anything outside the run's folder.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from jinja2 import Environment, FileSystemBytecodeCache, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup

from harness.analysis.ladder import ladders
from harness.cases import how_many
from harness.console import escaping
from harness.files import beside_bytecode
from harness.journal import run_files
from harness.report import drawing, words
from harness.report import format as fmt
from harness.report.anchors import case_anchor, counter_anchor, distinct_slugs
from harness.report.figures import explore
from harness.report.figures.style import DARK, LIGHT, Figure, variables
from harness.report.links import Links
from harness.report.pages.overview import Overview, overview, subtitle
from harness.report.pages.problem import Maker, ProblemPage
from harness.tables import Run
from harness.tables.packed import ASSETS, COUNTERS, JOURNAL, is_packed, named

LIBRARY = "plotly.min.js"
SINGLE = "report-single-file.html"
_HERE = Path(__file__).parent


def write_pages(run: Run) -> Path:
    """Write report.html, problems/, figures/ and assets/ to the run's folder, and remove older
    ones."""
    maker, slugs = _maker(run), _slugs(run)
    packed = is_packed(run.folder)
    shared = ASSETS if packed else Links.shared
    above = Links(slugs, "", shared=shared)
    links = {problem: Links(slugs, "../", problem, shared) for problem in slugs}
    pages = drawing.pages(maker, links)
    over = overview(maker, pages, above)
    texts = {
        f"problems/{page.slug}.html": _render(
            "problem.html.j2", run, links[page.problem], page=page
        )
        for page in pages
    }
    texts["report.html"] = _render("overview.html.j2", run, above, page=over)
    for name, text in texts.items():
        run_files.write(run.folder, name, text)
    drawn = [figure.png for figure in _figures(pages, over)]
    _keep_only(run.folder, "problems", ".html", texts)
    _keep_only(run.folder, "figures", ".png", drawn)
    _write_assets(run.folder / shared, timed=run.is_timed, alone=not packed)
    return run.folder / "report.html"


def write_single(run: Run) -> Path:
    """The overview and every problem's page in one file that needs no other file."""
    maker, slugs = _maker(run), _slugs(run)
    links = Links(slugs, None)
    pages = drawing.pages(maker, dict.fromkeys(slugs, links))
    over = overview(maker, pages, links)
    text = _render("single.html.j2", run, links, page=over, pages=pages)
    run_files.write(run.folder, SINGLE, text)
    return run.folder / SINGLE


def _maker(run: Run) -> Maker:
    return Maker.of(run, ladders(run))


def _slugs(run: Run) -> dict[str, str]:
    return distinct_slugs(p.problem for p in run.planned.values())


class _Compiled(FileSystemBytecodeCache):
    """The cache of templates that an earlier command compiled. A template that cannot be stored is
    compiled again by each command."""

    def dump_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            super().dump_bytecode(bucket)


@cache
def _environment() -> Environment:
    kept = beside_bytecode.folder(__file__)
    environment = Environment(
        loader=PackageLoader("harness.report"),
        bytecode_cache=_Compiled(str(kept)) if kept else None,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["breakable"] = _breakable
    environment.filters["verdict"] = fmt.verdict
    environment.filters["how_many"] = how_many
    return environment


def alone(template: str, run: Run, **context: Any) -> str:
    """A stand-alone page: one file that needs no other file and has no interactive figure."""
    return _render(template, run, Links({}, None), charts=False, **context)


def _render(template: str, run: Run, links: Links, *, charts: bool = True, **context: Any) -> str:
    """Render one page. Every template gets the values that several pages need, such as the words
    for a verdict.

    The whole page is escaped, so that no text can act or disguise itself, wherever it came from: a
    run, a kernel's source or a card's name.
    """
    alone = links.root is None
    script, library = _asset("page.js"), explore.library() if charts and run.is_timed else ""
    page = (
        _environment()
        .get_template(template)
        .render(
            run=run,
            links=links,
            counters=named(run.folder, COUNTERS).name,
            journal=named(run.folder, JOURNAL).name,
            subtitle=subtitle(run.info),
            case_anchor=case_anchor,
            counter_anchor=counter_anchor,
            verdicts=words.VERDICTS,
            policy=_policy([script, library] if alone else None),
            style=Markup(_style()) if alone else "",
            script=Markup(script) if alone else "",
            library=Markup(explore.packed()) if alone and library else "",
            **context,
        )
    )
    return escaping.text(page)


def _breakable(name: str) -> Markup:
    """A name with permitted line breaks after its underscores."""
    return Markup(str(Markup.escape(name)).replace("_", "_<wbr>"))


def _policy(inline: Collection[str] | None) -> str:
    """The Content-Security-Policy: only scripts from this folder, or those in this file by their
    hash.

    Inline styles are allowed, because figures and the chart library set them.
    """
    if inline is None:
        scripts = "'self' file:"
    else:
        digests = (hashlib.sha256(text.encode()).digest() for text in inline if text)
        scripts = " ".join(f"'sha256-{base64.b64encode(d).decode()}'" for d in digests)
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'self' file: 'unsafe-inline'; "
        "img-src 'self' file: data: blob:; base-uri 'none'; form-action 'none'"
    )


def _figures(pages: Iterable[ProblemPage], over: Overview) -> Iterable[Figure]:
    roofs = [over.roofline]
    for page in pages:
        yield from page.over_size
        for panel in page.panels:
            yield from filter(None, (panel.ladder and panel.ladder[0], panel.counts, panel.stalls))
            roofs.append(panel.roofline)
    yield from (roofed.figure for roofed in roofs if roofed)


def _keep_only(folder: Path, below: str, ending: str, wanted: Iterable[str]) -> None:
    """Keep only this report's generated files; remove those left behind by an earlier report."""
    run_files.keep_only(folder, below, ending, {PurePosixPath(name).name for name in wanted})


def _write_assets(folder: Path, timed: bool, alone: bool) -> None:
    """Write the shared files. `alone`: whether no other run's pages use them."""
    above, below = folder.parent, folder.name
    files = {"page.css": _style(), "page.js": _asset("page.js")}
    if timed:
        files[LIBRARY] = explore.library()
    for name, text in files.items():
        run_files.write(above, f"{below}/{name}", text)
    if alone:
        _keep_only(above, below, "", files)


def _asset(name: str) -> str:
    return (_HERE / "assets" / name).read_text(encoding="utf-8")


def _style() -> str:
    """The style with both schemes' colours, which figures and tables refer to by their roles."""
    return (
        f":root {{ {variables(LIGHT)} }}\n"
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {variables(DARK)} }} }}\n"
        + _asset("page.css")
    )
