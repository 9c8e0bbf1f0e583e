// What a test asks of a page in the browser. The last expression is an object of questions.
(() => {
  const visible = (e) => e.checkVisibility() && e.getClientRects().length > 0;
  const name = (e) => e.textContent.trim().replace(/\s+/g, " ").slice(0, 60);

  // A text's corners on the screen, turned as it is, a little within its box.
  function corners(text) {
    const box = text.getBBox(), matrix = text.getScreenCTM();
    const dx = 0.5, dy = 0.14 * box.height;
    return [[dx, dy], [box.width - dx, dy], [box.width - dx, box.height - dy], [dx, box.height - dy]]
      .map(([x, y]) => new DOMPoint(box.x + x, box.y + y).matrixTransform(matrix));
  }
  // Two rectangles lie apart where an edge of one has all of the other on its far side.
  function apart(a, b) {
    for (const shape of [a, b])
      for (let i = 0; i < 4; i++) {
        const p = shape[i], q = shape[(i + 1) % 4];
        const side = ({ x, y }) => (q.x - p.x) * (y - p.y) - (q.y - p.y) * (x - p.x);
        const inner = Math.sign(side(shape[(i + 2) % 4]));
        const other = shape === a ? b : a;
        if (other.every((point) => Math.sign(side(point)) !== inner)) return true;
      }
    return false;
  }
  function inFigure(svg) {
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].filter((t) => name(t) && name(t) !== "■");
    const boxes = texts.map(corners);
    const found = [];
    boxes.forEach((a, i) => {
      if (a.some(({ x, y }) => x < frame.left - 2 || x > frame.right + 2 || y < frame.top - 2 || y > frame.bottom + 2))
        found.push(`${name(texts[i])} leaves its figure`);
      for (let j = i + 1; j < boxes.length; j++)
        if (!apart(a, boxes[j])) found.push(`${name(texts[i])} over ${name(texts[j])}`);
    });
    return found;
  }
  return {
    labels() {
      const found = {};
      for (const figure of document.querySelectorAll("figure"))
        for (const svg of figure.querySelectorAll(".wide svg, .slim svg"))
          if (visible(svg)) {
            const wrong = inFigure(svg);
            if (wrong.length) found[figure.id] = wrong.slice(0, 5);
          }
      return found;
    },
    overflow() {
      const width = document.documentElement.clientWidth;
      if (document.documentElement.scrollWidth <= width) return [];
      return [...document.querySelectorAll("body *")]
        .filter((e) => visible(e) && e.getBoundingClientRect().right > width + 1)
        .filter((e) => !e.closest(".scroll, pre, svg")).map((e) => `${e.tagName} ${name(e)}`);
    },
    clipped(kind = "table") {
      return [...document.querySelectorAll(".scroll")]
        .filter((e) => visible(e) && e.querySelector(kind) && !e.querySelector("table.source") && e.scrollWidth > e.clientWidth + 1)
        .map((e) => `${e.getAttribute("aria-label")}: ${e.scrollWidth} in ${e.clientWidth}`);
    },
    unfold() { document.querySelectorAll("details").forEach((d) => { d.open = true; }); },
    hidden() { return [...document.querySelectorAll("figure, table")].filter((f) => !visible(f)).length; },
    paper() { return getComputedStyle(document.body).backgroundColor; },
    // Text whose colour is too near to what it stands on (WCAG 2, 4.5 to 1), in cells of tables.
    faint() {
      const parse = (text) => {
        const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
        canvas.fillStyle = text; canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
      };
      const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
        .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
      const paper = parse(getComputedStyle(document.body).backgroundColor);
      const seen = {};
      for (const cell of document.querySelectorAll("td")) {
        if (!visible(cell) || !name(cell)) continue;
        const style = getComputedStyle(cell);
        const key = `${style.color} on ${style.backgroundColor}`;
        if (key in seen) continue;
        const ground = parse(style.backgroundColor);
        const [a, b] = [light(parse(style.color)), light(ground[3] ? ground : paper)];
        seen[key] = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      }
      return Object.entries(seen).filter(([, ratio]) => ratio < 4.5).map(([key, ratio]) => `${key}: ${ratio.toFixed(2)}`);
    },
    headings() {
      const wrong = [];
      const buttons = [...document.querySelectorAll("table.sortable th button")].filter(visible);
      for (const button of buttons) {
        button.focus();
        if (document.activeElement !== button) wrong.push(`${name(button)} takes no focus`);
        const tip = button.closest("th").dataset.tip;
        if (tip && document.getElementById("tip").textContent !== tip)
          wrong.push(`${name(button)} is not explained`);
      }
      return { wrong, count: buttons.length };
    },
    sorting(id) {
      const table = document.getElementById(id) ?? document.querySelector("table.sortable");
      const values = () => [...table.tBodies[0].rows].map((row) => row.cells[0].textContent);
      const before = values();
      const button = table.querySelector("th button");
      button.click(); button.click();
      const order = button.closest("th").getAttribute("aria-sort");
      return { before, after: values(), order };
    },
    async explore() {
      const wait = (ms) => new Promise((done) => setTimeout(done, ms));
      const buttons = [...document.querySelectorAll("button.explore")].filter(visible);
      for (const button of buttons) button.click();
      const drawn = () => document.querySelectorAll(".plot .main-svg").length;
      for (let i = 0; i < 200 && drawn() < buttons.length; i++) await wait(50);
      const empty = buttons.filter((b) => !b.closest("figure").querySelector(".plot .main-svg"));
      const over = this.overflow();
      for (const button of buttons) button.click();
      return { buttons: buttons.length, empty: empty.length, over };
    },
    panels() { return [...document.querySelectorAll(".panel")].filter(visible).map((p) => p.id); },
  };
})()
