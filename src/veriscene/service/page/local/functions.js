// The functions of programs that a reader writes, and scenes prepared for them: a port of the package's
// language/functions.py and worlds/nlvr/notation.py. Collections are arrays.

import { gives, many, ofAttribute, takes } from "./types.js";

/** An expression has no value on this scene: the statement is false. */
export class Undefined extends Error {}

const MAX_SUBSETS = 100_000;
const WALLS = ["TOP", "BOTTOM", "LEFT", "RIGHT"];

// ---------------------------------------------------------------- scenes

class PlacedItem {
  constructor(item, box, canvas, values, number) {
    Object.assign(this, { item, box, values, key: `i${number}` });
    [this.left, this.right] = [item.x, item.x + item.width];
    [this.top, this.bottom] = [item.y, item.y + item.height];
    this.gaps = [this.top, canvas[1] - this.bottom, this.left, canvas[0] - this.right];
  }

  touchesWall(side, margin) {
    return (side == null ? Math.min(...this.gaps) : this.gaps[WALLS.indexOf(side)]) <= margin;
  }

  touchesCorner(side, margin) {
    return this.gaps.filter((gap) => gap <= margin).length === 2 && this.touchesWall(side, margin);
  }

  distance(other) {
    return Math.max(this.left - other.right, other.left - this.right, this.top - other.bottom, other.top - this.bottom);
  }

  within(margin) {
    return this.box.items.filter((other) => other !== this && this.distance(other) <= margin);
  }

  allAbove(items) {
    return items.filter((other) => other.bottom <= this.top);
  }

  allBelow(items) {
    return items.filter((other) => other.top >= this.bottom);
  }

  touchingAmong(others, margin) {
    return others.filter((other) => this.distance(other) <= margin);
  }

  /** The others that touch this item if they form a tower, otherwise all of them. */
  adjacentInTower(others, margin) {
    return this.box.isTower ? this.touchingAmong(others, margin) : others;
  }
}

class PlacedBox {
  items = [];
  isTower = false;
}

/** {all_boxes, all_items}: a scene as programs see it. */
export function place(world, scene) {
  const ranks = world.attributes.map(({ kind, choices, name }) => {
    if (kind === "numeric") return ({ values }) => values[name];
    return ({ values }) => choices.findIndex((choice) => choice.name === values[name]);
  });
  let count = 0;
  const boxes = scene.map((items, number) => {
    const box = Object.assign(new PlacedBox(), { key: `b${number}` });
    box.items = items.map(
      (item) => new PlacedItem(item, box, world.canvas, ranks.map((rank) => rank(item)), count++), // prettier-ignore
    );
    box.highest = Math.min(...box.items.map(({ top }) => top));
    box.lowest = Math.max(...box.items.map(({ top }) => top));
    box.leftmost = Math.min(...box.items.map(({ left }) => left));
    box.rightmost = Math.max(...box.items.map(({ right }) => right));
    box.isTower = isTower(world, items);
    return box;
  });
  const items = boxes.flatMap((box) => box.items);
  for (const box of boxes) box.sceneItems = items;
  return { all_boxes: boxes, all_items: items };
}

/** Whether a box is not empty and all its items are blocks with aligned right edges. */
export function isTower(world, items) {
  if (!world.tree.towers || !items.length) return false;
  const { step, ...values } = world.tree.towers;
  return (
    new Set(items.map(({ x, width }) => x + width)).size === 1 &&
    items.every((item) => Object.entries(values).every(([name, value]) => item.values[name] === value))
  );
}

// ---------------------------------------------------------------- sets

/** A value as sets compare it; boxes by identity, or by what they contain. */
function keyOf(value, byContents = false) {
  if (Array.isArray(value)) return `{${[...new Set(value.map((each) => keyOf(each, byContents)))].sort().join()}}`;
  if (byContents && value instanceof PlacedBox) {
    const codes = value.items.map(({ item }) => JSON.stringify([item.x, item.y, item.width, item.height, item.values]));
    return codes.sort().join(";");
  }
  return value?.key ?? (value === null ? "any" : typeof value === "string" ? value : Number(value));
}

const keys = (members, byContents = false) => new Set(members.map((each) => keyOf(each, byContents)));
const sameMembers = (one, other) => {
  const [a, b] = [keys(one), keys(other)];
  return a.size === b.size && [...a].every((key) => b.has(key));
};
const allSame = (members) => keys(members, true).size === 1;
const flat = (value) => (value instanceof PlacedBox ? value.items : value);

/** Each member once, in order of first appearance. */
export function distinct(members) {
  const seen = new Set();
  return members.filter((each) => {
    const key = keyOf(each);
    return seen.has(key) ? false : seen.add(key);
  });
}

export const isEqual = (one, other) =>
  Array.isArray(one) || Array.isArray(other) ? sameMembers(flat(one), flat(other)) : keyOf(one) === keyOf(other);
export const contains = (member, members) => keys(flat(members)).has(keyOf(member));
export const isTrue = (value) => (Array.isArray(value) ? value.length > 0 : Boolean(value));
export const collected = (value) => (Array.isArray(value) ? value : value instanceof PlacedBox ? value.items : [value]);

function unique(members) {
  if (members.length !== 1) throw new Undefined();
  return members[0];
}

/** The first of the members whose key is extreme. */
function extreme(members, key, sign) {
  if (!members.length) throw new Undefined();
  const values = members.map(key);
  let best = 0;
  for (const [at, value] of values.entries()) if (sign * (value - values[best]) > 0) best = at;
  return members[best];
}

function whole(number) {
  if (number < 0 || !Number.isInteger(Number(number))) throw new Undefined();
  return Number(number);
}

function subscript(members, index) {
  if (whole(index) >= members.length) throw new Undefined();
  return members[index];
}

function combinations(members, size) {
  const found = [];
  const extend = (chosen, from) => {
    if (chosen.length === size) found.push(chosen);
    else for (let at = from; at < members.length; at++) extend([...chosen, members[at]], at + 1);
    if (found.length > MAX_SUBSETS) throw new Error("the program takes too many steps on one scene");
  };
  extend([], 0);
  return found;
}

// ---------------------------------------------------------------- functions by name

/** Each is {name, parameters, gives, value, form}; `form` tells how it is written, and is "f(x)" if it is left out. */
export function functionsOf(world) {
  const functions = { ...setFunctions(), ...operators(), ...places(world), ...relations(world) };
  world.attributes.forEach((attribute, at) => Object.assign(functions, attributeFunctions(attribute, at)));
  for (const [name, each] of Object.entries(functions)) each.name = name;
  return functions;
}

const define = (parameters, result, value, form = "f(x)") => ({ parameters, gives: result, value, form });

function setFunctions() {
  const { set, test, each } = takes;
  const like = [set, takes.setLikeFirst];
  const keyed = [takes.orderedOrKeyed, takes.key];
  const plain = (value) => value;
  const same = (parameters) => define(parameters, gives.truth, sameMembers);
  return {
    filter_obj: define([set, test], gives.set, (members, holds) => members.filter((one) => isTrue(holds(one)))),
    exist: define([set], gives.truth, (members) => members.length > 0),
    count: define([set], gives.number, (members) => keys(members).size),
    len: define([set], gives.number, (members) => members.length),
    unique: define([set], gives.member, unique),
    last: define([set], gives.member, (members) => subscript(members, members.length - 1)),
    set: define([set], gives.set, distinct),
    all: define([takes.truths], gives.truth, (members) => members.every(isTrue)),
    min: define(keyed, gives.member, (members, key = plain) => extreme(members, key, -1)),
    max: define(keyed, gives.member, (members, key = plain) => extreme(members, key, 1)),
    combinations: define([set, takes.number], gives.subsets, (members, size) => combinations(members, whole(size))),
    union: define(like, gives.set, (one, other) => distinct([...one, ...other])),
    intersect: define(like, gives.set, (one, other) => {
      const shared = keys(other);
      return distinct(one).filter((each) => shared.has(keyOf(each)));
    }),
    contained: define(like, gives.truth, (one, other) => {
      const all = keys(other);
      return [...keys(one)].every((key) => all.has(key));
    }),
    member_of: define([takes.member, takes.setOfFirst], gives.truth, contains),
    equal: same([takes.anything, takes.likeFirst]),
    equal_set: same([takes.anything, takes.likeFirst]),
    equal_int: same([takes.numbers, takes.numbers]),
    All: define([set, test], gives.truth, (members, holds) => members.length > 0 && members.every((one) => isTrue(holds(one)))),
    Any: define([set, test], gives.truth, (members, holds) => members.some((one) => isTrue(holds(one)))),
    all_same: define([set], gives.truth, allSame),
    all_same_attribute: define([set, each], gives.truth, (members, of) => allSame(members.map(of))),
  };
}

function operators() {
  const { number, set } = takes;
  const sum = (one, other) => (Array.isArray(flat(one)) ? [...flat(one), ...flat(other)] : one + other);
  return {
    not: define([takes.condition], gives.truth, (value) => !isTrue(value), "operator"),
    "%": define([number, number], gives.number, remainder, "operator"),
    "*": define([number, number], gives.number, (one, other) => one * other, "operator"),
    "+": define(
      [takes.numberOrSet, takes.addend],
      (types) => (types[0] === "number" ? "number" : gives.set(types)),
      sum,
      "operator",
    ),
    "[]": define([set, number], gives.member, subscript, "operator"),
    "[:]": define([set, number, takes.stop], gives.set, (members, start, stop) =>
      members.slice(whole(start), stop === undefined ? undefined : whole(stop)), "operator"), // prettier-ignore
  };
}

function remainder(dividend, divisor) {
  if (divisor === 0) throw new Undefined();
  return ((dividend % divisor) + divisor) % divisor;
}

function places({ tree }) {
  const { item } = takes;
  const test = (value) => define([item], gives.truth, value);
  const level = (steps) => test((x) => x.box.isTower && x.gaps[1] === steps * (tree.towers?.step ?? 0));
  const wall = (method, margin) =>
    define([item, takes.side], gives.truth, (x, side = null) => x[method](side, margin)); // prettier-ignore
  return {
    is_top: test((x) => x.top === x.box.highest),
    is_bottom: test((x) => x.top === x.box.lowest),
    is_leftmost: test((x) => x.left === x.box.leftmost),
    is_rightmost: test((x) => x.right === x.box.rightmost),
    is_foreign: test(() => false),
    box: define([item], gives.always("box"), (x) => x.box, "x.f"),
    all_items_in_box: define([takes.box], gives.items, (box) => box.items, "x.f()"),
    is_tower: define([takes.box], gives.truth, (box) => box.isTower, "x.f()"),
    is_second: level(1),
    is_third: level(2),
    is_touching_wall: wall("touchesWall", 0),
    is_closely_touching_wall: wall("touchesWall", tree.close),
    is_touching_corner: wall("touchesCorner", 0),
    is_closely_touching_corner: wall("touchesCorner", tree.close),
  };
}

function relations({ tree }) {
  const { touching: near, close } = tree;
  const related = (find) =>
    define([takes.itemOrItems], gives.items, (items) =>
      items.length === 1 ? find(items[0]) : distinct(items.flatMap(find))); // prettier-ignore
  const others = (find) => define([takes.item], gives.items, (x) => find(x).filter((other) => other !== x));
  const isClose = (x, y) =>
    [x.top - y.bottom, x.left - y.right, y.top - x.bottom, y.left - x.right].some((gap) => Math.abs(gap) <= close);
  return {
    get_touching: related((x) => x.within(near)),
    get_closely_touching: related((x) => x.within(close)),
    get_above: related((x) => x.adjacentInTower(x.allAbove(x.box.items), near)),
    get_below: related((x) => x.adjacentInTower(x.allBelow(x.box.items), near)),
    get_box_all_above: related((x) => x.allAbove(x.box.items)),
    get_box_all_below: related((x) => x.allBelow(x.box.items)),
    get_box_all_left: related((x) => x.box.items.filter((other) => other.right <= x.left)),
    get_box_all_right: related((x) => x.box.items.filter((other) => other.left >= x.right)),
    get_directly_above: related((x) => x.touchingAmong(x.allAbove(x.box.items), near)),
    get_directly_below: related((x) => x.touchingAmong(x.allBelow(x.box.items), near)),
    get_img_all_above: related((x) => x.allAbove(x.box.sceneItems)),
    get_img_all_below: related((x) => x.allBelow(x.box.sceneItems)),
    get_box_inclusive: define([takes.item], gives.items, (x) => x.box.items),
    get_box_exclusive: others((x) => x.box.items),
    get_img_exclusive: others((x) => x.box.sceneItems),
    is_closely_touching: define([takes.item, takes.item], gives.truth, isClose),
    center_x: define([takes.item], gives.number, (x) => (x.left + x.right) / 2),
    center_y: define([takes.item], gives.number, (x) => (x.top + x.bottom) / 2),
    distance: define([takes.item, takes.item], gives.number, distance),
  };
}

/** Between the centers of two items of one box. */
function distance(one, other) {
  if (one.box !== other.box) throw new Undefined();
  const across = (one.left + one.right - other.left - other.right) / 2;
  const down = (one.top + one.bottom - other.top - other.bottom) / 2;
  return Math.sqrt(across * across + down * down); // of equal distances the same, which Math.hypot does not promise
}

function attributeFunctions(attribute, at) {
  const { name } = attribute;
  const type = ofAttribute(attribute);
  const values = (items) => items.map((item) => item.values[at]);
  const value = (given) => (given instanceof PlacedItem ? given.values[at] : values(flat(given)));
  const oneOrMore = takes.oneOrMore(type);
  return {
    [name]: define(
      [{ ...takes.itemOrItems, isCollected: false }],
      ([first]) => (first === "item" ? type : many(type)),
      value,
    ),
    [`filter_${name}`]: define([takes.items, takes.one(type)], gives.items, (items, wanted) =>
      items.filter((item) => item.values[at] === wanted)), // prettier-ignore
    [`query_${name}`]: define([takes.itemOrItems], gives.always(many(type)), values),
    [`get_set_${name}s`]: define([takes.items], gives.always(many(type)), (items) => distinct(values(items))),
    [`equal_${name}`]: define([oneOrMore, oneOrMore], gives.truth, sameMembers),
    [`all_same_${name}`]: define([takes.items], gives.truth, (items) => new Set(values(items)).size === 1),
  };
}
