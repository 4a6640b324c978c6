// What is seen, for use elsewhere: as a picture, and as a few lines of Python.

import { at, body, svg } from "./drawing.js";
import { toWire } from "./scene.js";

const [WIDTH, HEIGHT] = [1200, 630]; // as links are previewed
const MARGIN = 60;
const FONT = "system-ui, sans-serif";
const COLORS = { true: "#0b6b4c", false: "#9c2f10" };

/** Statement, scene and verdict (null: none) as a PNG. */
export async function asPicture({ world, statement, scene }, verdict) {
  const [first, second, ...more] = wrapped(statement, 44, WIDTH - 2 * MARGIN);
  const lines = second === undefined ? [first] : [first, more.length ? `${second} …` : second];
  const top = MARGIN + 56 * lines.length + 10;
  const text = (x, y, size, fill, words, weight = 400) =>
    svg("text", { x, y, fill, "font-size": size, "font-weight": weight }, words);
  const said = (verdict?.verdict ?? null) === null ? "" : verdict.verdict ? "✓ True" : "✕ False";
  const drawn = svg(
    "svg",
    { width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "font-family": FONT },
    svg("rect", { width: WIDTH, height: HEIGHT, fill: "#faf9f7" }),
    ...lines.map((line, row) => text(MARGIN, MARGIN + 36 + 56 * row, 44, "#1d1c1f", line, 600)),
    boxes(world, scene, top, HEIGHT - MARGIN - 70 - top),
    text(MARGIN, HEIGHT - MARGIN + 10, 46, COLORS[verdict?.verdict], said, 700),
    svg("text", { x: WIDTH - MARGIN, y: HEIGHT - MARGIN + 6, fill: "#625f67", "font-size": 30, "text-anchor": "end" }, "veriscene"),
  );
  const picture = new Image();
  picture.src = `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(drawn))}`;
  await picture.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: WIDTH, height: HEIGHT });
  canvas.getContext("2d").drawImage(picture, 0, 0);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

/** The boxes, as large as fits: side by side, or wide ones one below the other. */
function boxes(world, scene, top, room) {
  const gap = 30;
  const [width, height] = world.canvas;
  const [columns, rows] = world.isWide ? [1, scene.length] : [scene.length, 1];
  const scale = Math.min(
    (WIDTH - 2 * MARGIN - gap * (columns - 1)) / columns / width,
    (room - gap * (rows - 1)) / rows / height,
  );
  const drawn = scene.map((items, box) => {
    const [x, y] = world.isWide ? [0, box * (height * scale + gap)] : [box * (width * scale + gap), 0];
    const shown = items.map((item) => {
      // The page's style sheet does not reach into a picture.
      const look = world.look(item);
      const [shape, label] = body(look, item);
      if (!look.outline) shape.setAttribute("stroke", world.isDark ? "#aaa" : "#333");
      if (!look.outline) shape.setAttribute("stroke-width", 0.8 * world.unit);
      label?.setAttribute("text-anchor", "middle");
      return svg("g", { transform: at(item) }, shape, label ?? "");
    });
    const floor = svg("rect", { width, height, fill: world.background ?? "#d9d9dc" });
    return svg("svg", { x, y, width: width * scale, height: height * scale, viewBox: `0 0 ${width} ${height}` }, floor, ...shown);
  });
  return svg("g", { transform: `translate(${MARGIN} ${top})` }, ...drawn);
}

/** The lines of a text that is not wider than `most`; what does not fit in the last one is left to the caller. */
function wrapped(text, size, most) {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `600 ${size}px ${FONT}`;
  const lines = [""];
  for (const word of text.split(/\s+/)) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (lines.at(-1) && pen.measureText(longer).width > most) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}

/** Python that asks the same. */
export function asPython({ world, statement, scene }, model) {
  const literal = (value) =>
    typeof value === "boolean" ? (value ? "True" : "False") : value === null ? "None" : JSON.stringify(value);
  const item = (wire) => `{${Object.entries(wire).map(([key, value]) => `${literal(key)}: ${literal(value)}`).join(", ")}}`; // prettier-ignore
  const rows = toWire(world, scene).map((box) => {
    const lines = box.map((wire) => `        ${item(wire)},\n`).join("");
    return box.length ? `    [\n${lines}    ],\n` : "    [],\n";
  });
  return (
    `import veriscene\n\njudge = veriscene.load(${literal(model)})\nscene = [\n${rows.join("")}]\n` +
    `verdict = judge(${literal(statement)}, scene)\nprint(verdict.verdict, verdict.probability)\n`
  );
}

/** Puts a text or a picture on the clipboard; where that is not possible, offers a file. Returns what happened. */
export async function copy(content, name) {
  const [type, data] = typeof content === "string" ? ["text/plain", new Blob([content])] : ["image/png", content];
  try {
    const typed = new Blob([data], { type });
    await navigator.clipboard.write([new ClipboardItem({ [type]: typed })]);
    return "copied";
  } catch {
    const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(data), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // when the file is written
    return "saved as a file";
  }
}
