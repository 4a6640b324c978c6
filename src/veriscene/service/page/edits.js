// Edits of a document {statement, scene, kind}: each returns the edited document, or throws a Refusal.

import { EXTENT, MOST_ITEMS, find, newId } from "./scene.js";
import { MOST_BLOCKS, levelAt, settle, stack } from "./geometry.js";

/** Why an edit is not possible, in words for the user. */
export class Refusal extends Error {}

/** Moves an item to the free place nearest to (x, y) of a box, which may be another one. A block changes its level. */
export function move(doc, id, box, x, y) {
  const from = find(doc.scene, id);
  if (from.box !== box) {
    checkNotLast(doc, from.box);
    checkRoom(doc, box);
  }
  const others = doc.scene[box].filter((item) => item.id !== id);
  if (doc.kind === "tower") {
    const items = others.toSpliced(levelAt(y), 0, from.item);
    return withBoxes(doc, { [from.box]: without(doc, from), [box]: items });
  }
  const moved = settle({ ...from.item, x, y }, others);
  if (moved === null) throw new Refusal(`There is no room in box ${box + 1}.`);
  const items = from.box === box ? doc.scene[box].with(from.index, moved) : [...others, moved];
  return withBoxes(doc, { [from.box]: without(doc, from), [box]: items });
}

/** Changes colour, shape or size. An item at the right wall or on the floor stays there; others keep their middle. */
export function restyle(doc, id, look) {
  const { box, index, item } = find(doc.scene, id);
  const changed = { ...item, ...look };
  const grown = changed.size - item.size;
  const along = (at) => (at + item.size === EXTENT ? at - grown : at - grown / 2);
  const wanted = { ...changed, x: along(item.x), y: along(item.y) };
  const settled = grown === 0 ? changed : settle(wanted, doc.scene[box].toSpliced(index, 1));
  if (settled === null) throw new Refusal(`There is no room for that size in box ${box + 1}.`);
  return withBoxes(doc, { [box]: doc.scene[box].with(index, settled) });
}

/** Adds an item in the middle of the box or near it, in a tower on top. Returns the document and the item's id. */
export function add(doc, box, look) {
  checkRoom(doc, box);
  const middle = (EXTENT - look.size) / 2;
  const wanted = { ...look, id: newId(), x: middle, y: middle };
  const item = doc.kind === "tower" ? wanted : settle(wanted, doc.scene[box]);
  if (item === null) throw new Refusal(`There is no room for a ${look.shape} of that size in box ${box + 1}.`);
  return [withBoxes(doc, { [box]: [...doc.scene[box], item] }), item.id];
}

export function remove(doc, id) {
  const from = find(doc.scene, id);
  checkNotLast(doc, from.box);
  return withBoxes(doc, { [from.box]: without(doc, from) });
}

/** Towers are stacked from the items of each box, lowest first; in a scatter, items stay where they are. */
export function changeKind(doc, kind) {
  if (kind === "scatter") return { ...doc, kind };
  const boxes = doc.scene.map((box) => box.toSorted((a, b) => b.y + b.size - a.y - a.size).slice(0, MOST_BLOCKS));
  return withBoxes({ ...doc, kind }, boxes);
}

const without = (doc, { box, index }) => doc.scene[box].toSpliced(index, 1);

function withBoxes(doc, changed) {
  const arrange = doc.kind === "tower" ? stack : (items) => items;
  return { ...doc, scene: doc.scene.map((box, number) => (changed[number] ? arrange(changed[number]) : box)) };
}

function checkRoom(doc, box) {
  const most = doc.kind === "tower" ? MOST_BLOCKS : MOST_ITEMS;
  if (doc.scene[box].length >= most) throw new Refusal(`Box ${box + 1} is full: it holds at most ${most} items.`);
}

function checkNotLast(doc, box) {
  if (doc.scene[box].length === 1) throw new Refusal(`Box ${box + 1} must keep at least one item.`);
}
