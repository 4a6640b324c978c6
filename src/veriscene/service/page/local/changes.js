// All small edits of a scene, in a fixed order, and how each is said in English: a port of the package's
// world/edits.py, for worlds without numeric attributes.

import { distance } from "../world.js";
import { isTower } from "./functions.js";

const MAX_KINDS_ADDED = 64;
const ORDINALS = "first second third fourth fifth sixth seventh eighth".split(" ");
const SIDES = ["top", "bottom", "left", "right"];
const WALL_WORDS = {
  top: ["at ", "the top wall"],
  bottom: ["on ", "the floor"],
  left: ["at ", "the left wall"],
  right: ["at ", "the right wall"],
};

const right = ({ x, width }) => x + width;
const lower = ({ y, height }) => y + height;
const div = (one, other) => Math.floor(one / other);
/** An item as text: equal exactly for equal items. */
export const codeOf = ({ x, y, width, height, values }) => JSON.stringify([x, y, width, height, values]);
const isSame = (one, other) => one !== null && other !== null && codeOf(one) === codeOf(other);
const unique = (places) => [...new Map(places.map((place) => [place.join(), place])).values()];
const product = (...lists) =>
  lists.reduce((found, list) => found.flatMap((before) => list.map((each) => [...before, each])), [[]]);
/** What a box shows, whatever the order of its items. */
export const boxKey = (items) => items.map(codeOf).sort().join();

/** One edit of one box: {kind, box, before, after, attribute, items}. */
class Edit {
  constructor(world, kind, box, before, after, attribute, items) {
    Object.assign(this, { kind, box, before, after, attribute, items });
    Object.defineProperty(this, "world", { value: world });
  }

  /** How much of a change it is: values first, the world's last attribute before its first; then the others. */
  get cost() {
    const names = this.world.attributes.map(({ name }) => name);
    if (this.attribute !== null) return names.length - 1 - names.indexOf(this.attribute);
    return names.length + ["move", "remove", "add"].indexOf(this.kind);
  }

  /** An instruction. It names an item so that no other item of the box can be meant. */
  get text() {
    const { world, before, after, items } = this;
    const where = `${world.box} ${this.box + 1}`;
    if (before === null) {
      const [preposition, place] = this.#place();
      const look = lookOf(world, after, world.attributes, towerOf(world, items) !== null);
      return `add a ${look} to ${where}, ${preposition}${place}`;
    }
    const item = `the ${nameOf(world, before, items)} in ${where}`;
    if (after === null) return `remove ${item}`;
    if (this.attribute === null) return `move ${item} to ${this.#place()[1]}`;
    const attribute = world.attributes.find(({ name }) => name === this.attribute);
    const template = world.tree.attributes[this.attribute].change ?? `set the ${attribute.word} of {item} to {value}`;
    return template.replaceAll("{item}", item).replaceAll("{value}", attribute.say(after.values[this.attribute]));
  }

  #place() {
    const { world, before, after, items } = this;
    const others = items.filter((item) => !isSame(item, before));
    if (towerOf(world, items) !== null) {
      const level = div(world.canvas[1] - lower(after), world.tree.towers.step);
      if (level === 0 || level === others.length) return ["at ", level ? "the top" : "the bottom"];
      return ["in ", `the ${ORDINALS[level]} place from the bottom`];
    }
    const touched = wallsOf(world, after);
    if (before === null || !touched.every((side) => wallsOf(world, before).includes(side))) {
      if (touched.length === 1) return WALL_WORDS[touched[0]];
      if (touched.length) return ["in ", `the ${touched.join(" ")} corner`];
    }
    for (const other of others)
      if (distance(after, other) <= world.touching)
        return ["", `just ${directionOf(after, other)} the ${nameOf(world, other, items)}`];
    const [width, height] = world.canvas;
    const isMiddle = after.x === div(width - after.width, 2) && after.y === div(height - after.height, 2);
    return isMiddle ? ["in ", "the middle"] : ["at ", "a free place near the middle"];
  }
}

/** The walls of the box within `margin` of an item. */
function wallsOf(world, item, margin = 0) {
  const [width, height] = world.canvas;
  const touched = [item.y <= margin, lower(item) >= height - margin, item.x <= margin, right(item) >= width - margin];
  return SIDES.filter((_, at) => touched[at]);
}

// ---------------------------------------------------------------- names

/** Names this item of a box so that no other can be meant. */
function nameOf(world, item, items) {
  const said = world.attributes.filter(
    ({ kind, isNoun, choices }) => kind === "categorical" && (isNoun || choices.every(({ word }) => !word.includes(" "))),
  );
  const alike = () => items.filter((other) => said.every(({ name }) => other.values[name] === item.values[name]));
  for (const extra of world.attributes.filter((each) => !said.includes(each)))
    if (new Set(alike().map(({ values }) => values[extra.name])).size > 1) said.push(extra);
  const look = lookOf(world, item, said, towerOf(world, items) !== null);
  const same = alike();
  if (same.length === 1) return look;
  const up = (each) => world.canvas[1] - lower(each);
  for (const [values, value, low, high] of [
    [same.map(({ x }) => x), item.x, "left", "right"],
    [same.map(up), up(item), "bottom", "top"],
  ])
    if (values.filter((each) => each === value).length === 1) return ranked(look, values, value, low, high);
  return `${look} whose upper left corner is at (${item.x}, ${item.y})`;
}

/** The values of some attributes before and after a noun: "small black square". */
function lookOf(world, item, said, isBlock) {
  const fixed = isBlock ? Object.keys(world.tree.towers).filter((key) => key !== "step") : [];
  if (isBlock && world.sizes) fixed.push(world.sizes.name); // the blocks of a tower have one size
  const nounOf = world.attributes.find(({ isNoun }) => isNoun);
  const noun = isBlock ? "block" : nounOf ? nounOf.say(item.values[nounOf.name]) : world.item;
  const ordered = [...said.filter(({ kind }) => kind === "ordered"), ...said.filter(({ kind }) => kind !== "ordered")];
  const words = ordered
    .filter((each) => each !== nounOf && !fixed.includes(each.name))
    .map(({ name, say }) => say(item.values[name]));
  const before = words.filter((word) => !word.includes(" "));
  return [[...before, noun].join(" "), ...words.filter((word) => word.includes(" "))].join(", ");
}

function ranked(look, values, value, low, high) {
  if (value === Math.min(...values)) return `${low === "left" ? "leftmost" : "lowest"} ${look}`;
  if (value === Math.max(...values)) return `${high}most ${look}`;
  const rank = values.filter((other) => other < value).length;
  return `${ORDINALS[rank] ?? `${rank + 1}th`} ${look} from the ${low}`;
}

function directionOf(item, other) {
  if (lower(item) <= other.y) return "above";
  if (lower(other) <= item.y) return "below";
  return right(item) <= other.x ? "left of" : "right of";
}

// ---------------------------------------------------------------- enumeration

/** Each edit with the scene that it leads to, which is valid and not the same scene; with `onlyChanges`, those that
 *  change a value. */
export function* edits(world, scene, onlyChanges = false) {
  const towers = scene.map((items) => towerOf(world, items));
  const areTowers = towers.every((blocks) => blocks !== null);
  for (const [number, items] of scene.entries()) {
    const changes = areTowers
      ? towerEdits(world, towers[number], onlyChanges)
      : scatterEdits(world, items, onlyChanges);
    const known = boxKey(items);
    for (const [kind, attribute, before, after, changed] of changes)
      if (boxKey(changed) !== known)
        yield [new Edit(world, kind, number, before, after, attribute, items), scene.with(number, changed)];
  }
}

function withValue(world, item, name, value) {
  const values = { ...item.values, [name]: value };
  return { ...item, values, ...world.extentOf(values, item) };
}

const valuesOf = ({ choices }) => choices.map(({ name }) => name);

// ---------------------------------------------------------------- towers

/** The blocks from the floor up if the items are a tower of blocks of one size without gaps, else null. */
export function towerOf(world, items) {
  if (!isTower(world, items)) return null;
  const blocks = items.toSorted((one, other) => lower(other) - lower(one));
  const { step } = world.tree.towers;
  const isAtSteps = blocks.every((item, level) => lower(item) === world.canvas[1] - level * step);
  return isAtSteps && new Set(blocks.map(({ width, height }) => `${width} ${height}`)).size === 1 ? blocks : null;
}

/** The blocks on top of each other, from the floor up. */
const restacked = (world, blocks) =>
  blocks.map((block, level) => ({
    ...block,
    x: blocks[0].x,
    y: world.canvas[1] - block.height - level * world.tree.towers.step,
  }));

function* towerEdits(world, blocks, onlyChanges) {
  const { step, ...values } = world.tree.towers;
  const free = world.attributes.filter(({ name }) => !(name in values) && name !== world.sizes?.name).reverse();
  for (const attribute of free)
    for (const [level, value] of product([...blocks.keys()], valuesOf(attribute))) {
      const changed = withValue(world, blocks[level], attribute.name, value);
      yield ["change", attribute.name, blocks[level], changed, blocks.with(level, changed)];
    }
  if (onlyChanges) return;
  for (const [level, block] of blocks.entries()) {
    const rest = blocks.toSpliced(level, 1);
    if (rest.length >= Math.max(1, world.items[0])) yield ["remove", null, block, null, restacked(world, rest)];
    for (const to of blocks.keys()) {
      const items = restacked(world, rest.toSpliced(to, 0, block));
      yield ["move", null, block, items[to], items];
    }
  }
  const hasRoom = blocks.length * step + blocks[0].height <= world.canvas[1];
  if (!hasRoom || blocks.length >= world.items[1]) return;
  const kinds = product(...free.map(valuesOf)).slice(0, MAX_KINDS_ADDED);
  for (let level = blocks.length; level >= 0; level--)
    for (const kind of kinds) {
      const block = free.reduce((item, { name }, at) => withValue(world, item, name, kind[at]), blocks[0]);
      const items = restacked(world, blocks.toSpliced(level, 0, block));
      yield ["add", null, null, items[level], items];
    }
}

// ---------------------------------------------------------------- scattered items

function* scatterEdits(world, items, onlyChanges) {
  for (const [position, item] of items.entries()) {
    const others = items.toSpliced(position, 1);
    for (const [attribute, changed] of changesOf(world, item, others)) {
      if (onlyChanges && attribute === null) break;
      yield [attribute === null ? "move" : "change", attribute, item, changed, items.with(position, changed)];
    }
    if (items.length > world.items[0] && !onlyChanges) yield ["remove", null, item, null, others];
  }
  if (items.length < world.items[1] && !onlyChanges)
    for (const item of additions(world, items)) yield ["add", null, null, item, [...items, item]];
}

function* changesOf(world, item, others) {
  const [width, height] = world.canvas;
  for (const attribute of world.attributes.toReversed())
    for (const value of valuesOf(attribute)) {
      let changed = withValue(world, item, attribute.name, value);
      if (attribute === world.sizes) {
        // An item at the right wall or on the floor stays there.
        const x = right(item) === width ? width - changed.width : item.x;
        const y = lower(item) === height ? height - changed.height : item.y;
        changed = { ...changed, x, y };
        if (!fits(world, changed, others)) continue;
      }
      yield [attribute.name, changed];
    }
  const [farX, farY] = [width - item.width, height - item.height];
  const atWalls = [[0, item.y], [farX, item.y], [item.x, 0], [item.x, farY]]; // prettier-ignore
  const places = [...atWalls, ...product([0, farX], [0, farY]), ...beside(world, item, others)];
  const free = places.filter(([x, y]) => fits(world, { ...item, x, y }, others));
  for (const [x, y] of unique([...free, ...nearMiddle(world, item, others)])) yield [null, { ...item, x, y }];
}

/** Every kind of item near the middle; those of middle size also at each wall and beside another item. */
function* additions(world, others) {
  for (const kinds of kindsOf(world, others)) {
    const [sample] = kinds;
    const places = nearMiddle(world, sample, others);
    const sizes = world.sizes?.choices;
    if (!sizes || sizes.findIndex(({ name }) => name === sample.values[world.sizes.name]) === div(sizes.length - 1, 2)) {
      const [farX, farY] = [world.canvas[0] - sample.width, world.canvas[1] - sample.height];
      const [across, down] = [fromMiddle(world, sample, 0), fromMiddle(world, sample, 1)];
      const options = [
        across.map((x) => [x, farY]),
        down.map((y) => [farX, y]),
        down.map((y) => [0, y]),
        across.map((x) => [x, 0]),
        beside(world, sample, others),
      ];
      for (const each of options)
        places.push(...each.filter(([x, y]) => fits(world, { ...sample, x, y }, others)).slice(0, 1));
    }
    for (const [[x, y], kind] of product(unique(places), kinds)) yield { ...kind, x, y };
  }
}

/** The items that may be added, grouped by extent. */
function kindsOf(world, others) {
  const names = world.attributes.map(({ name }) => name);
  const options = world.attributes.map(valuesOf);
  let combinations = product(...options);
  if (combinations.length > MAX_KINDS_ADDED) {
    const usual = options.map(([first]) => first);
    combinations = options.flatMap((values, at) => values.map((value) => usual.with(at, value)));
  }
  const side = Math.max(1, div(Math.min(...world.canvas), 5));
  const { width, height } = others[0] ?? { width: side, height: side };
  const groups = new Map();
  for (const chosen of combinations) {
    const values = Object.fromEntries(names.map((name, at) => [name, chosen[at]]));
    const item = { x: 0, y: 0, ...world.extentOf(values, { width, height }), values };
    const key = `${item.width} ${item.height}`;
    groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return [...groups.values()];
}

/** Whether the item is inside the box and leaves the gap of touching items to all others. */
function fits(world, item, others) {
  const [width, height] = world.canvas;
  const isInside = item.x >= 0 && item.y >= 0 && right(item) <= width && lower(item) <= height;
  return isInside && (world.overlap || others.every((other) => distance(item, other) >= world.touching));
}

/** Right of, left of, above and below each of the others: touching it, centred on it as far as walls permit. */
function beside(world, item, others) {
  const [width, height] = world.canvas;
  const gap = world.touching;
  const centred = (at, extent, own, room) => Math.min(Math.max(at + div(extent - own, 2), 0), room - own);
  return others.flatMap((other) => {
    const x = centred(other.x, other.width, item.width, width);
    const y = centred(other.y, other.height, item.height, height);
    return [
      [right(other) + gap, y],
      [other.x - item.width - gap, y],
      [x, other.y - item.height - gap],
      [x, lower(other) + gap],
    ];
  });
}

/** The place nearest to the middle that is apart from the others and from the walls, if there is one. */
function nearMiddle(world, item, others) {
  const apart = world.tree.close + 1;
  const [across, down] = [fromMiddle(world, item, 0), fromMiddle(world, item, 1)];
  const far = ([x, y]) => (x - across[0]) ** 2 + (y - down[0]) ** 2;
  for (const [x, y] of product(across, down).sort((one, other) => far(one) - far(other))) {
    const placed = { ...item, x, y };
    if (!wallsOf(world, placed, apart).length && others.every((other) => distance(placed, other) > apart)) return [[x, y]];
  }
  return [];
}

/** Coordinates of an item along an axis, from the middle outwards. */
function fromMiddle(world, item, axis) {
  const room = Math.trunc(world.canvas[axis] - [item.width, item.height][axis]);
  const grid = Math.max(1, div(Math.min(...world.canvas), 20));
  const middle = div(room, 2);
  const found = [];
  for (let at = middle % grid; at <= room; at += grid) found.push(at);
  found.sort((one, other) => Math.abs(one - middle) - Math.abs(other - middle));
  return found.length ? found : [0];
}
