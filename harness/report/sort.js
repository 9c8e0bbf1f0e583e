// A heading's button sorts its table: up, then down. Empty cells stay last. Links open what they lead to.
for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells];
  headings.forEach((heading, column) => {
    heading.querySelector("button").addEventListener("click", () => {
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
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const folded = target && target.closest("details:not([open])");
  if (folded) { folded.open = true; target.scrollIntoView(); }
}
addEventListener("hashchange", reveal);
reveal();
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
