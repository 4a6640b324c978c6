// SVG of items, of the order in which they were read, and of changes.

import { itemFromWire } from "./scene.js";

const NAMESPACE = "http://www.w3.org/2000/svg";
const HEAD = 6; // length of an arrow head, in pixels of the scene
const BOW = 0.5; // distance of a curve's control point from the straight line, relative to the arrow's length

export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/** The outline of an item, as data of a path whose origin is the item's top-left corner. */
export function outline({ shape, size }) {
  if (shape === "square") return `M0 0H${size}V${size}H0Z`;
  if (shape === "triangle") return `M${size / 2} 0L${size} ${size}H0Z`;
  const radius = size / 2;
  return `M0 ${radius}a${radius} ${radius} 0 0 1 ${size} 0a${radius} ${radius} 0 0 1 ${-size} 0Z`;
}

export const at = ({ x, y }) => `translate(${x} ${y})`;
const middle = ({ x, y, size }) => [x + size / 2, y + size / 2];

/** Arrows from each item to the next; a dot marks the first. */
export function order(items) {
  const centers = items.map(middle);
  const arrows = centers.slice(1).map((end, index) => arrow(centers[index], end));
  const first = centers.slice(0, 1).map(([cx, cy]) => svg("circle", { cx, cy, r: 2.4, class: "first" }));
  return [...arrows, ...first];
}

/** Curved to the right of its direction: straight arrows would overlap along a tower. */
function arrow([x1, y1], [x2, y2]) {
  const [bowX, bowY] = [(x1 + x2) / 2 - (y2 - y1) * BOW, (y1 + y2) / 2 + (x2 - x1) * BOW];
  const length = Math.hypot(x2 - bowX, y2 - bowY) || 1;
  const [aheadX, aheadY] = [(HEAD * (x2 - bowX)) / length, (HEAD * (y2 - bowY)) / length];
  const [backX, backY] = [x2 - aheadX, y2 - aheadY];
  const curve = `M${x1} ${y1}Q${bowX} ${bowY} ${backX} ${backY}`;
  const head = `M${x2} ${y2}L${backX - aheadY / 2} ${backY + aheadX / 2}L${backX + aheadY / 2} ${backY - aheadX / 2}Z`;
  return svg(
    "g",
    { class: "arrow" },
    svg("path", { d: curve, class: "curve under" }),
    svg("path", { d: head, class: "head under" }),
    svg("path", { d: curve, class: "curve" }),
    svg("path", { d: head, class: "head" }),
  );
}

/** The change of one item, drawn over the picture: what it becomes, where it goes, or that it goes. */
export function ghost({ kind, before, after }) {
  const old = before && itemFromWire(before);
  const next = after && itemFromWire(after);
  const parts = [];
  if (kind === "remove") {
    const [near, far] = [0.15 * old.size, 0.85 * old.size];
    const cross = `M${near} ${near}L${far} ${far}M${far} ${near}L${near} ${far}`;
    for (const name of ["edge under", "edge"]) parts.push(svg("path", { d: cross, transform: at(old), class: name }));
  }
  if (kind === "move") {
    const [[x1, y1], [x2, y2]] = [middle(old), middle(next)];
    parts.push(svg("path", { d: outline(old), transform: at(old), class: "edge" }));
    parts.push(svg("line", { x1, y1, x2, y2, class: "edge under" }), svg("line", { x1, y1, x2, y2, class: "edge" }));
  }
  if (next) {
    // A new colour is shown inside the old one.
    const inset = kind === "recolor" ? 0.22 * next.size : 0;
    const inner = { ...next, x: next.x + inset, y: next.y + inset, size: next.size - 2 * inset };
    const shape = { d: outline(inner), transform: at(inner), "fill-opacity": inset ? 1 : 0.8 };
    parts.push(
      svg("path", { ...shape, class: "edge under" }),
      svg("path", { ...shape, class: "edge body", "data-color": next.color }),
    );
  }
  return svg("g", { class: "ghost" }, ...parts);
}
