// SVG of items, of the order in which they were read, and of changes.

import { itemFromWire } from "./scene.js";

const NAMESPACE = "http://www.w3.org/2000/svg";
const HEAD = 6; // length of an arrow head, in pixels of the scene
const BOW = 0.5; // distance of a curve's control point from the straight line, relative to the arrow's length
const MAX_BOW = 0.5; // of that distance, relative to the canvas: a longer curve would leave its box

export function svg(name, attributes = {}, ...children) {
  const element = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

const regular = (corners) =>
  [...Array(corners).keys()].map((number) => {
    const turn = (2 * Math.PI * number) / corners;
    return [0.5 + 0.5 * Math.sin(turn), 0.5 - 0.5 * Math.cos(turn)];
  });
const star = (inner) =>
  [...Array(10).keys()].map((number) => {
    const [radius, turn] = [number % 2 ? inner : 0.5, (Math.PI * number) / 5];
    return [0.5 + radius * Math.sin(turn), 0.5 - radius * Math.cos(turn)];
  });
const cross = "10 20 21 31 32 22 23 13 12 02 01 11".split(" ").map((corner) => [corner[0] / 3, corner[1] / 3]);
const semicircle = [...Array(17).keys()].map((number) => {
  const turn = (Math.PI * number) / 16;
  return [0.5 - 0.5 * Math.cos(turn), 1 - Math.sin(turn)];
});
const rectangle = [[0, 0], [1, 0], [1, 1], [0, 1]]; // prettier-ignore
// The corners of each shape, in parts of the item's width and height, as in the package's world/drawing.py.
const SHAPES = {
  square: rectangle,
  rectangle,
  circle: null, // and "ellipse": drawn with arcs
  ellipse: null,
  triangle: [[0.5, 0], [0, 1], [1, 1]], // prettier-ignore
  diamond: [[0.5, 0], [1, 0.5], [0.5, 1], [0, 0.5]], // prettier-ignore
  pentagon: regular(5),
  hexagon: regular(6),
  star: star(0.2),
  cross,
  semicircle,
};

/** The outline of a shape, as data of a path whose origin is the item's top-left corner; null is a tile. */
export function outline(shape, { width, height }) {
  const corners = SHAPES[shape ?? "rectangle"];
  if (corners) return `M${corners.map(([x, y]) => `${x * width} ${y * height}`).join("L")}Z`;
  const [rx, ry] = [width / 2, height / 2];
  return `M0 ${ry}a${rx} ${ry} 0 0 1 ${width} 0a${rx} ${ry} 0 0 1 ${-width} 0Z`;
}

/** How an outline is turned around the middle of its item, as a transformation. */
export const turned = ({ turn = 0 }, { width, height }) => `rotate(${360 * turn} ${width / 2} ${height / 2})`;

/** The outline and the label of an item, at the item's top-left corner. `className` is that of the outline. */
export function body(look, item, className = "body") {
  const { shape, fill, outline: edge, label } = look;
  const paint = edge ? { stroke: edge, "stroke-width": Math.min(item.width, item.height) / (look.isMarked ? 9 : 30) } : {};
  const place = { d: outline(shape, item), transform: turned(look, item) };
  const drawn = svg("path", { ...place, fill, class: edge ? className : `${className} plain`, ...paint });
  return label ? [drawn, text(look, item)] : [drawn];
}

/** The words of a label one below the other, as large as the item permits. */
function text({ label, ink }, { width, height }) {
  const words = label.split(" ");
  const longest = Math.max(...words.map((word) => word.length));
  const size = Math.min((0.75 * height) / words.length, (1.5 * width) / longest, 0.32 * height);
  const first = height / 2 - (size * (words.length - 1)) / 2 + size * 0.35;
  return svg(
    "text",
    { class: "label", "font-size": size, fill: ink },
    ...words.map((word, row) => svg("tspan", { x: width / 2, y: first + size * row }, word)),
  );
}

export const at = ({ x, y }) => `translate(${x} ${y})`;
const middle = ({ x, y, width, height }) => [x + width / 2, y + height / 2];

/** Arrows from each item to the next; a dot marks the first. They must not hide labels: they arch over items that have
 *  any. */
export function order(world, items) {
  const hasLabels = items.some((item) => world.look(item).label);
  const places = items.map((item) => (hasLabels ? [item.x + item.width / 2, item.y] : middle(item)));
  const arrows = places.slice(1).map((end, index) => arrow(world, places[index], end, hasLabels));
  const first = places.slice(0, 1).map(([cx, cy]) => svg("circle", { cx, cy, r: 2.4 * world.unit, class: "first" }));
  return [...arrows, ...first];
}

/** Curved to the right of its direction, because straight arrows would overlap along a tower; or, as an arch, upwards. */
function arrow({ canvas, unit }, [x1, y1], [x2, y2], isArch) {
  const distance = Math.hypot(x2 - x1, y2 - y1) || 1;
  const bow = Math.min(BOW, (MAX_BOW * Math.min(...canvas)) / distance);
  const [bowX, bowY] = isArch
    ? [(x1 + x2) / 2, Math.max(Math.min(y1, y2) - distance * bow, 0)]
    : [(x1 + x2) / 2 - (y2 - y1) * bow, (y1 + y2) / 2 + (x2 - x1) * bow];
  const length = Math.hypot(x2 - bowX, y2 - bowY) || 1;
  const head = HEAD * unit;
  const [aheadX, aheadY] = [(head * (x2 - bowX)) / length, (head * (y2 - bowY)) / length];
  const [backX, backY] = [x2 - aheadX, y2 - aheadY];
  const curve = `M${x1} ${y1}Q${bowX} ${bowY} ${backX} ${backY}`;
  const tip = `M${x2} ${y2}L${backX - aheadY / 2} ${backY + aheadX / 2}L${backX + aheadY / 2} ${backY - aheadX / 2}Z`;
  return svg(
    "g",
    { class: "arrow" },
    svg("path", { d: curve, class: "curve under" }),
    svg("path", { d: tip, class: "head under" }),
    svg("path", { d: curve, class: "curve" }),
    svg("path", { d: tip, class: "head" }),
  );
}

/** The change of one item, drawn over the picture: what it becomes, where it goes, or that it goes. */
export function ghost(world, { before, after }) {
  const old = before && itemFromWire(world, before);
  const next = after && itemFromWire(world, after);
  const parts = [];
  if (!next) {
    const [left, right, top, bottom] = [0.15 * old.width, 0.85 * old.width, 0.15 * old.height, 0.85 * old.height];
    const cross = `M${left} ${top}L${right} ${bottom}M${right} ${top}L${left} ${bottom}`;
    for (const name of ["edge under", "edge"]) parts.push(svg("path", { d: cross, transform: at(old), class: name }));
    return svg("g", { class: "ghost" }, ...parts);
  }
  const look = world.look(next);
  const hasSameExtent = old && old.width === next.width && old.height === next.height;
  const isMoved = hasSameExtent && (old.x !== next.x || old.y !== next.y);
  if (isMoved) {
    const [[x1, y1], [x2, y2]] = [middle(old), middle(next)];
    const looked = world.look(old);
    const place = { d: outline(looked.shape, old), transform: `${at(old)} ${turned(looked, old)}` };
    parts.push(svg("path", { ...place, class: "edge" }));
    parts.push(svg("line", { x1, y1, x2, y2, class: "edge under" }), svg("line", { x1, y1, x2, y2, class: "edge" }));
  }
  // A new value is shown inside the old item, or above or below it so that both labels can be read.
  const isInside = hasSameExtent && !isMoved && world.look(old).shape === look.shape;
  const inset = isInside && !look.label ? 0.22 : 0;
  const beside = next.y >= next.height + world.gap ? -next.height - world.gap : next.height + world.gap;
  const inner = {
    x: next.x + inset * next.width,
    y: next.y + inset * next.height + (isInside && look.label ? beside : 0),
    width: next.width * (1 - 2 * inset),
    height: next.height * (1 - 2 * inset),
  };
  parts.push(
    svg(
      "g",
      { transform: at(inner), opacity: isInside ? 1 : 0.8 },
      svg("path", { d: outline(look.shape, inner), transform: turned(look, inner), class: "edge under" }),
      ...body({ ...look, outline: null }, inner, "edge body"),
    ),
  );
  return svg("g", { class: "ghost" }, ...parts);
}
