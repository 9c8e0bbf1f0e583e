"""The page in a real browser: no error, no overflow, no two labels over each other, by keyboard.

A script of the test's own is put into a copy of the page; it writes what it finds into the
document, which the browser then prints. Debian's package is `chromium`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from html import escape, unescape
from pathlib import Path
from typing import Any

import pytest
from profiled import profiled
from synthetic_runs import SIZES, Bench, mishaps

from harness import report

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars", "--virtual-time-budget=30000",
]  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome")

LISTEN = """<script>
window.problems = [];
addEventListener("error", (e) => problems.push(`error: ${e.message}`));
addEventListener("unhandledrejection", (e) => problems.push(`rejected: ${e.reason}`));
for (const kind of ["error", "warn"]) {
  const said = console[kind];
  console[kind] = (...words) => { problems.push(`${kind}: ${words}`); said(...words); };
}
</script>"""

INSPECT = """<script>
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const visible = (e) => e.checkVisibility() && e.getClientRects().length > 0;
const name = (e) => e.textContent.trim().slice(0, 60);
function overlaps(svg) {
  const frame = svg.getBoundingClientRect();
  const found = [];
  const texts = [...svg.querySelectorAll("text")].filter((t) => name(t) && name(t) !== "■");
  const boxes = texts.map((t) => t.getBoundingClientRect());
  boxes.forEach((a, i) => {
    if (a.left < frame.left - 2 || a.right > frame.right + 2)
      found.push(`${name(texts[i])} leaves its figure`);
    for (let j = i + 1; j < boxes.length; j++) {
      const b = boxes[j];
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (wide > 1.5 && high > 0.25 * Math.min(a.height, b.height))
        found.push(`${name(texts[i])} over ${name(texts[j])}`);
    }
  });
  return found;
}
function labels() {
  const found = {};
  for (const figure of document.querySelectorAll("figure"))
    for (const svg of figure.querySelectorAll(".wide svg, .slim svg"))
      if (visible(svg)) {
        const wrong = overlaps(svg);
        if (wrong.length) found[figure.id] = wrong;
      }
  return found;
}
function overflow() {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  return [...document.querySelectorAll("body *")]
    .filter((e) => visible(e) && e.getBoundingClientRect().right > width + 1)
    .filter((e) => !e.closest(".scroll, pre, svg")).map((e) => `${e.tagName} ${name(e)}`);
}
async function keyboard() {
  const wrong = [];
  const headings = [...document.querySelectorAll("table.sortable th button")].filter(visible);
  for (const button of headings) {
    button.focus();
    if (document.activeElement !== button) wrong.push(`${name(button)} takes no focus`);
    const tip = button.closest("th").dataset.tip;
    if (tip && document.getElementById("tip").textContent !== tip)
      wrong.push(`${name(button)} is not explained`);
  }
  const table = document.querySelector("table.sortable");
  const values = () => [...table.tBodies[0].rows].map((row) => row.cells[0].textContent);
  const before = values();
  const button = table.querySelector("th button");
  button.click(); button.click();
  if (button.closest("th").getAttribute("aria-sort") !== "descending") wrong.push("not sorted");
  if (before.length > 2 && String(before) === String(values())) wrong.push("order unchanged");
  return { wrong, headings: headings.length };
}
async function explore() {
  const buttons = [...document.querySelectorAll("button.explore")].filter(visible);
  for (const button of buttons) button.click();
  const drawn = () => document.querySelectorAll(".plot .main-svg").length;
  for (let i = 0; i < 100 && drawn() < buttons.length; i++) await wait(100);
  const empty = buttons.filter((b) => !b.closest("figure").querySelector(".plot .main-svg"));
  const over = overflow();
  for (const button of buttons) button.click();
  return { buttons: buttons.length, empty: empty.length, over };
}
addEventListener("load", async () => {
  const verdict = { width: innerWidth, figures: document.querySelectorAll("figure").length };
  verdict.closed = overflow();
  verdict.labels = labels();
  verdict.paper = getComputedStyle(document.body).backgroundColor;
  verdict.explore = await explore();
  document.querySelectorAll("details").forEach((d) => { d.open = true; });
  verdict.open = overflow();
  verdict.keyboard = await keyboard();
  verdict.hidden = [...document.querySelectorAll("figure")].filter((f) => !visible(f)).length;
  verdict.problems = problems;
  const place = document.createElement("pre");
  place.id = "verdict";
  place.textContent = JSON.stringify(verdict);
  const outside = parent.document;
  outside.body.append(place);
  frameElement.remove();
});
</script>"""


def browser() -> str:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        missing = (
            f"none of {', '.join(NAMES)} is on PATH: the page is not tested in a real browser; "
            "install one: apt-get install chromium"
        )
        # A newcomer's machine may have none, and is told so; CI installs one and must use it.
        (pytest.fail if os.environ.get("CI") else pytest.skip)(missing)
    return found


def inspect(page: Path, width: int, folder: Path, *flags: str) -> dict[str, Any]:
    """What the browser finds in the page at a window's width."""
    text = page.read_text(encoding="utf-8")
    text = text.replace("<head>", f"<head>{LISTEN}", 1).replace("</body>", f"{INSPECT}</body>")
    # In a frame, because a window of Chromium's is at least 500 pixels wide.
    copy = folder / f"inspected-{width}.html"
    frame = f'<iframe width="{width}" height="900" srcdoc="{escape(text)}"></iframe>'
    copy.write_text(f'<!doctype html><meta charset="utf-8"><body>{frame}</body>', encoding="utf-8")
    command = [
        browser(), *FLAGS, *flags, f"--user-data-dir={folder / 'profile'}",
        "--window-size=1400,1000", "--dump-dom", copy.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    found = re.search(r'<pre id="verdict">(.*?)</pre>', done.stdout, re.DOTALL)
    assert found, f"the browser printed no verdict\n{done.stderr[-2000:]}"
    return json.loads(unescape(found[1]))


@pytest.fixture(scope="module", params=["profiled", "mishaps", "emulated"])
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "profiled":
        return report.write(profiled(Bench(sizes=SIZES[1:], rounds=8), folder, (256,)))
    if request.param == "mishaps":
        return report.write(Bench(rounds=8, sizes=SIZES[:2], **mishaps()).timed(folder))
    return report.write(Bench(sizes=SIZES[:1]).emulated(folder))


@pytest.fixture(scope="module", params=[1280, 400])
def verdict(
    request: pytest.FixtureRequest, page: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    found = inspect(page, request.param, tmp_path_factory.mktemp("browser"))
    assert found["width"] == request.param
    assert found["figures"] > 3
    return found


def test_the_browser_reports_no_error(verdict: dict[str, Any]) -> None:
    assert verdict["problems"] == []


def test_nothing_is_wider_than_the_window_folded_or_unfolded(verdict: dict[str, Any]) -> None:
    assert verdict["closed"] == []
    assert verdict["open"] == []
    assert verdict["hidden"] == 0


def test_no_label_of_a_figure_lies_over_another_or_leaves_it(verdict: dict[str, Any]) -> None:
    assert verdict["labels"] == {}


def test_every_heading_takes_the_focus_is_explained_and_sorts(verdict: dict[str, Any]) -> None:
    assert verdict["keyboard"]["headings"] > 5
    assert verdict["keyboard"]["wrong"] == []


def test_every_figure_to_explore_is_drawn_when_asked(page: Path, verdict: dict[str, Any]) -> None:
    timed = "not-timed" not in page.read_text(encoding="utf-8").split("<main>")[0]
    assert (verdict["explore"]["buttons"] > 0) == timed
    assert verdict["explore"]["empty"] == 0
    assert verdict["explore"]["over"] == []


def test_dark_is_dark(tmp_path: Path) -> None:
    page = report.write(Bench(sizes=SIZES[:1]).emulated(tmp_path))
    light = inspect(page, 1280, tmp_path)
    dark = inspect(page, 1280, tmp_path, "--blink-settings=preferredColorScheme=0")
    assert _lightness(light["paper"]) > 0.9
    assert _lightness(dark["paper"]) < 0.2
    assert dark["problems"] == []


def _lightness(colour: str) -> float:
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / (3 * 255)


def test_the_inspection_notices_what_it_looks_for(tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    page.write_text(
        "<!doctype html><html><head></head><body><div id='tip'></div>"
        "<p style='width:3000px'>wide</p>"
        "<figure id='f'><div class='wide'><svg viewBox='0 0 100 100' width='100' height='100'>"
        "<text x='1' y='50'>first</text><text x='5' y='52'>second</text></svg></div></figure>"
        "<table class='sortable'><thead><tr><th data-tip='t'><button disabled>h</button></th>"
        "</tr></thead><tbody><tr><td>1</td></tr></tbody></table>"
        "<script>console.error('as planned')</script></body></html>"
    )
    found = inspect(page, 1280, tmp_path)
    assert found["problems"] == ["error: as planned"]
    assert found["closed"] != []
    assert "first over second" in found["labels"]["f"]
    assert found["keyboard"]["wrong"] != []
