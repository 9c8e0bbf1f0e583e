// Sorts, searches, explains, and opens what a link leads to. Every page reads and prints without it.
// A heading's button sorts its table: up, then down. Empty cells stay last.
for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    heading.querySelector("button")?.addEventListener("click", () => {
      const down = heading.getAttribute("aria-sort") === "ascending";
      headings.forEach((other) => other.removeAttribute("aria-sort"));
      heading.setAttribute("aria-sort", down ? "descending" : "ascending");
      const body = table.tBodies[0];
      const key = ({ cells }) => cells[column].classList.contains("none")
        ? undefined : cells[column].dataset.sort ?? cells[column].textContent;
      const compare = (a, b) =>
        isNaN(a) || isNaN(b) ? String(a).localeCompare(b, "en", { numeric: true }) : a - b;
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [key(a), key(b)];
        if (x === undefined || y === undefined) return (x === undefined) - (y === undefined);
        return down ? compare(y, x) : compare(x, y);
      });
      body.append(...rows);
    });
  });
}

// The overview's search: rows that have every word stay.
const search = document.getElementById("search");
if (search) {
  search.parentElement.hidden = false;
  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of document.querySelectorAll("#problems tbody tr")) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
}

// A link opens what is folded around its target, and the tab that it lies in.
function reveal() {
  const name = decodeURIComponent(location.hash.slice(1));
  const target = name && document.getElementById(name);
  if (!target) return;
  for (let at = target; at; at = at.parentElement) {
    if (at.tagName === "DETAILS") at.open = true;
    if (at.classList.contains("panel")) {
      const tab = document.getElementById(at.dataset.tab);
      if (tab) tab.checked = true;
    }
  }
  target.scrollIntoView();
}
addEventListener("hashchange", reveal);
if (location.hash) reveal();

// A heading's explanation, on hover and on focus alike; it stays within the window.
const tip = document.getElementById("tip");
function explain(heading) {
  tip.textContent = heading.dataset.tip;
  tip.hidden = false;
  const { left, bottom, top } = heading.getBoundingClientRect();
  tip.style.left = `${Math.max(8, Math.min(left, innerWidth - tip.offsetWidth - 8))}px`;
  const below = bottom + 6;
  tip.style.top = `${below + tip.offsetHeight < innerHeight ? below : top - tip.offsetHeight - 6}px`;
}
const conceal = () => { tip.hidden = true; };
for (const heading of document.querySelectorAll("th[data-tip]")) {
  const button = heading.querySelector("button") ?? heading;
  button.setAttribute("aria-description", heading.dataset.tip);
  heading.addEventListener("mouseenter", () => explain(heading));
  heading.addEventListener("mouseleave", conceal);
  heading.addEventListener("focusin", () => explain(heading));
  heading.addEventListener("focusout", conceal);
}
addEventListener("scroll", conceal, { capture: true, passive: true });
addEventListener("keydown", (event) => { if (event.key === "Escape") conceal(); });

// A figure's "Explore" button swaps its drawing for Plotly's, which is loaded when first wanted:
// from the file beside the pages, or unpacked from a page that is one file.
let loading;
function plotly() {
  const packed = document.getElementById("plotly");
  const script = document.createElement("script");
  loading ??= packed ? unpack(packed, script) : new Promise((done, failed) => {
    script.onload = () => done(window.Plotly);
    script.onerror = () => failed(new Error("assets/plotly.min.js is not beside the report"));
    script.src = `${document.documentElement.dataset.assets}plotly.min.js`;
    document.head.append(script);
  });
  return loading;
}
async function unpack(packed, script) {
  const bytes = Uint8Array.from(atob(packed.textContent.trim()), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  script.textContent = await new Response(stream).text();
  document.head.append(script);
  return window.Plotly;
}
async function draw(figure) {
  const roles = getComputedStyle(document.documentElement);
  const text = figure.querySelector("script").textContent
    .replace(/var\(--(\w+)\)/g, (_, role) => roles.getPropertyValue(`--${role}`).trim());
  const { data, layout } = JSON.parse(text);
  const place = figure.querySelector(".plot");
  await (await plotly()).react(place, data, layout, { responsive: true, displaylogo: false });
}
for (const button of document.querySelectorAll("button.explore")) {
  const figure = button.closest("figure");
  button.hidden = false;
  button.addEventListener("click", async () => {
    const open = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", open);
    figure.classList.toggle("exploring", open);
    if (open) await draw(figure);
  });
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  document.querySelectorAll("figure.exploring").forEach(draw);
});
