// Where items can be: inside their box, with a gap to every other item, as in the corpus.

import { EXTENT } from "./scene.js";

export const GAP = 1; // between touching items; the corpus leaves one pixel between the blocks of a tower
export const MOST_BLOCKS = 4; // in a tower
const BLOCK = { x: 40, size: 20, shape: "square" };

/** Whether an item at its place is inside the box and leaves a gap to all others. */
export function isFree(item, others) {
  const { x, y, size } = item;
  if (x < 0 || y < 0 || x + size > EXTENT || y + size > EXTENT) return false;
  return others.every((other) => {
    const reach = other.size + GAP;
    return x >= other.x + reach || x + size + GAP <= other.x || y >= other.y + reach || y + size + GAP <= other.y;
  });
}

/** The item at the free place nearest to where it is; null if the box has none. So walls and other items stop it. */
export function settle(item, others) {
  const edges = (axis) => [
    clamp(Math.round(item[axis]), EXTENT - item.size),
    ...others.flatMap((other) => [other[axis] - item.size - GAP, other[axis] + other.size + GAP]),
  ];
  // The nearest free point is the item's own, its projection on an edge of an obstacle, or a corner of two edges.
  let best = null;
  let shortest = Infinity;
  for (const x of edges("x")) {
    for (const y of edges("y")) {
      const distance = (x - item.x) ** 2 + (y - item.y) ** 2;
      if (distance < shortest && isFree({ ...item, x, y }, others)) {
        best = { ...item, x, y };
        shortest = distance;
      }
    }
  }
  return best;
}

/** The items as a tower, the first on the floor. */
export const stack = (items) =>
  items.map((item, level) => ({ ...item, ...BLOCK, y: EXTENT - BLOCK.size - level * (BLOCK.size + GAP) }));

/** The level of a tower at which a block with this y belongs. */
export const levelAt = (y) => Math.max(0, Math.round((EXTENT - BLOCK.size - y) / (BLOCK.size + GAP)));

/** Whether all boxes hold towers exactly as `stack` builds them. */
export const isTowers = (scene) =>
  scene.every(
    (box) =>
      box.length <= MOST_BLOCKS &&
      stack(box).every((block, level) => ["x", "y", "size", "shape"].every((key) => block[key] === box[level][key])),
  );

const clamp = (value, most) => Math.min(Math.max(value, 0), most);
