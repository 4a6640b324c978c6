// Scenes on pictures, read by a small network ("eyes"): a port of the package's data/eyes.py. Pictures are brought to the
// size of the corpus's by the browser, whose rounding differs from the package's.

import { distance } from "../world.js";

const CELL = 10; // pixels
const PRESENT = Math.log(0.25 / 0.75);
const NUDGE = 2; // pixels by which an item that overlaps another may be moved
const MAX_LEVELS = 100;
const MAX_UNLIKE = 0.2; // the share of pixels that may differ from the recognised scene's by more levels
const [BACKGROUND, STRIP] = ["#d3d3d3", "#808080"];

const range = (count, from = 0) => Array.from({ length: count }, (_, at) => from + at);
const NUDGES = range(2 * NUDGE + 1, -NUDGE)
  .flatMap((x) => range(2 * NUDGE + 1, -NUDGE).map((y) => [x, y]))
  .sort(([a, b], [c, d]) => a * a + b * b - (c * c + d * d));

/** The scene on a picture, a Blob. `see(pixels, shape)` runs the network: RGB bytes -> [type, data, shape]. */
export async function readPicture(world, picture, see) {
  const [width, height] = world.canvas;
  const boxes = world.boxes[1];
  const pitch = width + Math.floor(width / 2);
  const canvas = new OffscreenCanvas((boxes - 1) * pitch + width, height);
  const context = canvas.getContext("2d", { willReadFrequently: true });
  let bitmap;
  try {
    bitmap = await createImageBitmap(picture, { colorSpaceConversion: "none" });
  } catch {
    throw new Error("image: not a picture; it must be a PNG or JPEG file");
  }
  context.imageSmoothingQuality = "high";
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  const shown = rgbOf(context, canvas);
  const scene = readBoxes(world, await see(shown, [1, canvas.height, canvas.width, 3]));
  const empty = scene.findIndex((items) => !items.length);
  if (empty >= 0) throw new Error(`image: no items were recognised in ${world.box} ${empty + 1}`);
  draw(world, scene, context, canvas, pitch);
  const drawn = rgbOf(context, canvas);
  let unlike = 0;
  for (let at = 0; at < shown.length; at += 3)
    if ([0, 1, 2].some((channel) => Math.abs(shown[at + channel] - drawn[at + channel]) > MAX_LEVELS)) unlike++;
  if (unlike > (MAX_UNLIKE * shown.length) / 3)
    throw new Error("image: the picture does not show the recognised items; it must be a picture of a scene");
  return scene;
}

function rgbOf(context, { width, height }) {
  const { data } = context.getImageData(0, 0, width, height);
  return Uint8Array.from(data.filter((_, at) => at % 4 !== 3));
}

function draw(world, scene, context, canvas, pitch) {
  context.fillStyle = STRIP;
  context.fillRect(0, 0, canvas.width, canvas.height);
  scene.forEach((items, number) => {
    context.fillStyle = BACKGROUND;
    context.fillRect(number * pitch, 0, ...world.canvas);
    for (const item of items) {
      const { shape, fill } = world.look(item);
      const [x, y, { width, height }] = [item.x + number * pitch, item.y, item];
      context.fillStyle = fill;
      context.beginPath();
      if (shape === "circle") context.arc(x + width / 2, y + height / 2, width / 2, 0, 2 * Math.PI);
      else if (shape === "triangle") {
        context.moveTo(x + width / 2, y);
        context.lineTo(x, y + height);
        context.lineTo(x + width, y + height);
      } else context.rect(x, y, width, height);
      context.fill();
    }
  });
}

/** The boxes in outputs (box, channel, row, column): presence, the classes of each attribute, offsets in the cell. */
export function readBoxes(world, [, values, [boxes, channels, rows, columns]]) {
  const kinds = ["categorical", "numeric", "ordered"];
  const attributes = world.attributes.toSorted((one, other) => kinds.indexOf(one.kind) - kinds.indexOf(other.kind));
  const heads = [...attributes.map(({ choices }) => choices.length), CELL, CELL];
  const found = [];
  for (const box of range(boxes))
    for (const row of range(rows))
      for (const column of range(columns)) {
        const value = (channel) => values[((box * channels + channel) * rows + row) * columns + column];
        if (value(0) <= PRESENT) continue;
        let start = 1;
        const classes = heads.map((size) => {
          const scores = range(size, start).map(value);
          start += size;
          return scores.indexOf(Math.max(...scores));
        });
        found.push({ box, row, column, classes, certainty: value(0) });
      }
  const kept = range(boxes).map(() => []);
  for (const { box, row, column, classes } of found.sort((one, other) => other.certainty - one.certainty)) {
    if (kept[box].length >= world.items[1]) continue;
    const chosen = Object.fromEntries(attributes.map(({ name, choices }, at) => [name, choices[classes[at]].name]));
    const extent = world.extentOf(chosen);
    const [across, down] = classes.slice(-2);
    const x = CELL * column + across - Math.floor(extent.width / 2);
    const y = CELL * row + down - Math.floor(extent.height / 2);
    // Values in the order of the world.
    const ordered = Object.fromEntries(world.attributes.map(({ name }) => [name, chosen[name]]));
    const item = free(world, inside(world, { ...extent, values: ordered, x, y }), kept[box]);
    if (item) kept[box].push(item);
  }
  return kept.map((items) => items.sort((one, other) => one.y - other.y || one.x - other.x));
}

/** The item at the nearest place, at most NUDGE pixels away in x and y, where it overlaps none of the others. */
function free(world, item, others) {
  const gap = Math.min(0, ...others.map((other) => distance(item, other)));
  if (gap >= 0) return item;
  for (const [right, down] of gap >= -NUDGE ? NUDGES : []) {
    const moved = inside(world, { ...item, x: item.x + right, y: item.y + down });
    if (others.every((other) => distance(moved, other) >= 0)) return moved;
  }
  return null;
}

function inside(world, item) {
  const [width, height] = world.canvas;
  const within = (at, room) => Math.min(Math.max(at, 0), room);
  return { ...item, x: within(item.x, width - item.width), y: within(item.y, height - item.height) };
}
