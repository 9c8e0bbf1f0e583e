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
