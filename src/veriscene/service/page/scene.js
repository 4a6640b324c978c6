// What a scene is: three boxes of items, plain objects {id, x, y, size, shape, color} that are never changed in place.
// `id` exists only on this page: it follows an item through edits.

export const EXTENT = 100;
export const MOST_ITEMS = 8;
export const SHAPES = ["square", "circle", "triangle"];
export const SIZES = [10, 20, 30];
export const COLORS = ["Yellow", "Black", "#0099ff"];
export const COLOR_NAMES = { Yellow: "yellow", Black: "black", "#0099ff": "blue" };
export const SIZE_NAMES = { 10: "small", 20: "medium", 30: "large" };

let lastId = 0;
export const newId = () => ++lastId;

export const capitalize = (text) => text[0].toUpperCase() + text.slice(1);
export const describe = (item) => `${SIZE_NAMES[item.size]} ${COLOR_NAMES[item.color]} ${item.shape}`;

/** The box and index of an item, or null. */
export function find(scene, id) {
  for (const [box, items] of scene.entries()) {
    const index = items.findIndex((item) => item.id === id);
    if (index >= 0) return { box, index, item: items[index] };
  }
  return null;
}

// ---------------------------------------------------------------- NLVR's structured_rep

export const toWire = (scene) => scene.map((box) => box.map(itemToWire));

/** The scene of a structured_rep. Items that `previous` has too keep their id. */
export function fromWire(boxes, previous = [[], [], []]) {
  return boxes.map((box, number) => {
    const known = new Map(previous[number].map((item) => [signature(item), item.id]));
    return box.map((wire) => {
      const item = itemFromWire(wire);
      const id = known.get(signature(item)) ?? newId();
      known.delete(signature(item));
      return { ...item, id };
    });
  });
}

export const itemFromWire = (wire) => ({
  x: wire.x_loc,
  y: wire.y_loc,
  size: wire.size,
  shape: wire.type,
  color: wire.color,
});
const itemToWire = (item) => ({
  x_loc: item.x,
  y_loc: item.y,
  size: item.size,
  type: item.shape,
  color: item.color,
});
const signature = (item) => [item.x, item.y, item.size, item.shape, item.color].join();

// ---------------------------------------------------------------- links

const COLOR_LETTERS = { Yellow: "y", Black: "k", "#0099ff": "b" };

/** For example sy2.40.80: a square, yellow, of size 20, at x 40, y 80. Items are joined by "-", boxes by "_". */
export function encode(scene) {
  const code = (item) => `${item.shape[0]}${COLOR_LETTERS[item.color]}${item.size / 10}.${item.x}.${item.y}`;
  return scene.map((box) => box.map(code).join("-")).join("_");
}

/** The inverse of `encode`; null if the text is not the code of a valid scene. */
export function decode(text) {
  const scene = text.split("_").map((box) => box.split("-").map(decodeItem));
  const isValid =
    scene.length === 3 && scene.every((box) => box.length <= MOST_ITEMS && box.every(isInside) && !overlaps(box));
  return isValid ? scene : null;
}

function decodeItem(text) {
  const match = /^([sct])([ykb])([123])\.(\d{1,2})\.(\d{1,2})$/.exec(text);
  if (!match) return null;
  const [, shape, color, size, x, y] = match;
  return {
    id: newId(),
    shape: SHAPES.find((name) => name[0] === shape),
    color: COLORS.find((value) => COLOR_LETTERS[value] === color),
    size: 10 * size,
    x: Number(x),
    y: Number(y),
  };
}

const isInside = (item) => item !== null && Math.max(item.x, item.y) + item.size <= EXTENT;
const overlaps = (box) =>
  box.some((one, index) =>
    box
      .slice(0, index)
      .some(
        (other) =>
          one.x < other.x + other.size &&
          other.x < one.x + one.size &&
          one.y < other.y + other.size &&
          other.y < one.y + one.size,
      ),
  );
