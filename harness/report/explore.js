// A figure's "Explore" button swaps its drawing for Plotly's, which is unpacked when first wanted.
const packed = document.getElementById("plotly");
let unpacking;
function plotly() {
  unpacking ??= (async () => {
    const bytes = Uint8Array.from(atob(packed.textContent.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
    return window.Plotly;
  })();
  return unpacking;
}
async function draw(figure) {
  const roles = getComputedStyle(document.documentElement);
  const text = figure.querySelector("script").textContent
    .replace(/var\(--(\w+)\)/g, (_, role) => roles.getPropertyValue(`--${role}`).trim());
  const { data, layout } = JSON.parse(text);
  const place = figure.querySelector(".plot");
  await (await plotly()).react(place, data, layout, { responsive: true, displaylogo: false });
}
for (const figure of packed && window.DecompressionStream ? document.querySelectorAll("figure") : []) {
  const button = figure.querySelector("button.explore");
  if (!button) continue;
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
