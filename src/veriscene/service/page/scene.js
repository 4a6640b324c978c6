// Scenes: lists of boxes of items. Their form in requests, and in links.

let lastId = 0;
export const newId = () => ++lastId;

/** The box and index of an item, or null. */
export function find(scene, id) {
  for (const [box, items] of scene.entries()) {
    const index = items.findIndex((item) => item.id === id);
    if (index >= 0) return { box, index, item: items[index] };
  }
  return null;
}

// ---------------------------------------------------------------- requests

export const toWire = (world, scene) => scene.map((box) => box.map((item) => itemToWire(world, item)));

/** The scene of a request or an answer. Items that `previous` has too keep their id. */
export function fromWire(world, boxes, previous = []) {
  return boxes.map((box, number) => {
    const known = new Map((previous[number] ?? []).map((item) => [codeOfItem(world, item), item.id]));
    return box.map((wire) => {
      const item = itemFromWire(world, wire);
      const code = codeOfItem(world, item);
      const id = known.get(code) ?? newId();
      known.delete(code);
      return { ...item, id };
    });
  });
}

export function itemFromWire(world, wire) {
  const { fields } = world;
  const values = {};
  for (const { name, field, kind, choices } of world.attributes)
    values[name] = kind === "numeric" ? wire[field] : choices.find(({ stored }) => stored === wire[field]).name;
  const own = { width: wire[fields.width], height: wire[fields.height] };
  return { x: wire[fields.x], y: wire[fields.y], ...world.extentOf(values, own), values };
}

export function itemToWire(world, item) {
  const { fields } = world;
  const wire = { [fields.x]: item.x, [fields.y]: item.y };
  if (world.hasFreeExtents) Object.assign(wire, { [fields.width]: item.width, [fields.height]: item.height });
  for (const { name, field, kind, choices } of world.attributes)
    wire[field] = kind === "numeric" ? item.values[name] : choices.find((each) => each.name === item.values[name]).stored;
  return wire;
}

// ---------------------------------------------------------------- links

/** For example 1.0.2.40.80: the values of an item, by their places in the world file, or as numbers; then x and y, and
 *  the extent if items state it. Items are joined by "-", boxes by "_", none of which is escaped in an address. */
export const encode = (world, scene) =>
  scene.map((box) => box.map((item) => codeOfItem(world, item)).join("-")).join("_");

/** The inverse of `encode`; null if the text is not the code of a valid scene. */
export function decode(world, text) {
  const boxes = text.split("_").map((box) => (box ? box.split("-").map((code) => itemOfCode(world, code)) : []));
  return boxes.flat().includes(null) || !world.isValid(boxes) ? null : boxes;
}

function codeOfItem(world, { x, y, width, height, values }) {
  const codes = world.attributes.map(({ name, kind, choices }) =>
    kind === "numeric" ? values[name] : choices.findIndex((choice) => choice.name === values[name]),
  );
  return [...codes, x, y, ...(world.hasFreeExtents ? [width, height] : [])].map(codeOfNumber).join(".");
}

function itemOfCode(world, code) {
  const numbers = code.split(".").map(numberOfCode);
  const { attributes } = world;
  if (numbers.length !== attributes.length + (world.hasFreeExtents ? 4 : 2) || !numbers.every(Number.isFinite))
    return null;
  const values = Object.fromEntries(
    attributes.map(({ name, kind, choices }, at) => [name, kind === "numeric" ? numbers[at] : choices[numbers[at]]?.name]),
  );
  const [x, y, width, height] = numbers.slice(attributes.length);
  if (world.sizes && values[world.sizes.name] === undefined) return null;
  return { id: newId(), x, y, ...world.extentOf(values, { width, height }), values };
}

// A point and a minus sign would separate numbers and items.
const codeOfNumber = (number) => String(number).replace(".", "p").replaceAll("-", "n").replace("+", "");
const numberOfCode = (code) =>
  /^n?\d+(p\d+)?(en?\d+)?$/.test(code) ? Number(code.replace("p", ".").replaceAll("n", "-")) : NaN;
