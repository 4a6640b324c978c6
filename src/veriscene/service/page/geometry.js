// Where items can be: inside their box, with a gap to every other item unless the world lets them overlap.

import { distance } from "./world.js";

/** Whether an item at its place is inside the box and leaves a gap to all others. */
export function isFree(world, item, others) {
  const [width, height] = world.canvas;
  if (item.x < 0 || item.y < 0 || item.x > width - item.width || item.y > height - item.height) return false;
  if (world.overlap) return true;
  return others.every((other) => {
    const apart = distance(item, other);
    return apart >= 0 && apart >= world.gap - 1e-9; // sums of fractions are not exact
  });
}

/** The item at the free place nearest to where it is; null if the box has none. So walls and other items stop it. */
export function settle(world, item, others) {
  const { gap, grid } = world;
  const clean = (value) => Number(value.toFixed(6));
  // Rounded away from the other item.
  const before = (value) => clean(Math.floor(value / grid + 1e-9) * grid);
  const after = (value) => clean(Math.ceil(value / grid - 1e-9) * grid);
  const edges = (axis, extent, room) => [
    Math.min(Math.max(clean(Math.round(item[axis] / grid) * grid), 0), room - item[extent]),
    ...(world.overlap ? [] : others).flatMap((other) => [
      before(other[axis] - item[extent] - gap),
      after(other[axis] + other[extent] + gap),
    ]),
  ];
  // The nearest free point is the item's own, its projection on an edge of an obstacle, or a corner of two edges.
  let best = null;
  let shortest = Infinity;
  for (const x of edges("x", "width", world.canvas[0])) {
    for (const y of edges("y", "height", world.canvas[1])) {
      const far = (x - item.x) ** 2 + (y - item.y) ** 2;
      if (far < shortest && isFree(world, { ...item, x, y }, others)) {
        best = { ...item, x, y };
        shortest = far;
      }
    }
  }
  return best;
}

// ---------------------------------------------------------------- towers, in worlds that have them

/** The items as a tower, the first on the floor. */
export const stack = (world, items) =>
  items.map((item, level) => {
    const { step, values, x, width, height } = world.tower;
    return { ...item, x, y: world.canvas[1] - height - level * step, width, height, values: { ...item.values, ...values } };
  });

/** The level of a tower at which a block with this y belongs. */
export const levelAt = ({ canvas, tower }, y) => Math.max(0, Math.round((canvas[1] - tower.height - y) / tower.step));

/** Whether all boxes hold towers exactly as `stack` builds them. */
export const isTowers = (world, scene) =>
  world.tower !== null &&
  scene.every(
    (box) =>
      box.length <= world.tower.max &&
      stack(world, box).every(
        (block, level) =>
          ["x", "y", "width", "height"].every((key) => block[key] === box[level][key]) &&
          Object.entries(block.values).every(([name, value]) => box[level].values[name] === value),
      ),
  );
