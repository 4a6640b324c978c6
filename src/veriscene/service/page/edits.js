// Edits of a document {world, statement, scene, kind}: each returns the edited document, or throws a Refusal.

import { find, newId } from "./scene.js";
import { levelAt, settle, stack } from "./geometry.js";
import { capitalize, withArticle } from "./world.js";

/** Why an edit is not possible, in words for the user. */
export class Refusal extends Error {}

/** Moves an item to the free place nearest to (x, y) of a box, which may be another one. A block changes its level. */
export function move(doc, id, box, x, y) {
  const from = find(doc.scene, id);
  if (from.box !== box) {
    checkCanLose(doc, from.box);
    checkRoom(doc, box);
  }
  const others = doc.scene[box].filter((item) => item.id !== id);
  if (doc.kind === "tower") {
    const items = others.toSpliced(levelAt(doc.world, y), 0, from.item);
    return withBoxes(doc, { [from.box]: without(doc, from), [box]: items });
  }
  const moved = settle(doc.world, { ...from.item, x, y }, others);
  if (moved === null) throw new Refusal(`There is no room in ${name(doc, box)}.`);
  const items = from.box === box ? doc.scene[box].with(from.index, moved) : [...others, moved];
  return withBoxes(doc, { [from.box]: without(doc, from), [box]: items });
}

/** Changes some of an item's {values, width, height}. An item at the right wall or on the floor stays there; others keep
 *  their middle. */
export function restyle(doc, id, change) {
  const { box, index, item } = find(doc.scene, id);
  const { world } = doc;
  const values = { ...item.values, ...change.values };
  const extent = world.extentOf(values, { ...item, ...change });
  const along = (at, before, after, room) => {
    if (before === after) return at;
    return at + before === room ? room - after : at + (before - after) / 2;
  };
  const x = along(item.x, item.width, extent.width, world.canvas[0]);
  const y = along(item.y, item.height, extent.height, world.canvas[1]);
  const changed = { ...item, ...extent, values, x, y };
  const isSame = extent.width === item.width && extent.height === item.height;
  const settled = isSame ? changed : settle(world, changed, doc.scene[box].toSpliced(index, 1));
  if (settled === null) throw new Refusal(`There is no room for that size in ${name(doc, box)}.`);
  return withBoxes(doc, { [box]: doc.scene[box].with(index, settled) });
}

/** Adds an item in the middle of the box or near it, in a tower on top. Returns the document and the item's id. */
export function add(doc, box, look) {
  checkRoom(doc, box);
  const item = place(doc, doc.scene[box], look);
  if (item === null) throw new Refusal(`There is no room for ${withArticle(doc.world.item)} of that size in ${name(doc, box)}.`);
  return [withBoxes(doc, { [box]: [...doc.scene[box], item] }), item.id];
}

export function remove(doc, id) {
  const from = find(doc.scene, id);
  checkCanLose(doc, from.box);
  return withBoxes(doc, { [from.box]: without(doc, from) });
}

/** Adds a box, with as few items as the world permits. */
export function addBox(doc, look) {
  const { boxes, items, boxWords } = doc.world;
  if (doc.scene.length >= boxes[1]) throw new Refusal(`There can be at most ${boxes[1]} ${boxWords}.`);
  const content = [];
  while (content.length < items[0]) {
    const item = place(doc, content, look);
    if (item === null) throw new Refusal(`There is no room for ${doc.world.itemWords} of that size.`);
    content.push(item);
  }
  const arranged = doc.kind === "tower" ? stack(doc.world, content) : content;
  return { ...doc, scene: [...doc.scene, arranged] };
}

export function removeBox(doc, box) {
  const { boxes, box: word, boxWords } = doc.world;
  if (doc.scene.length <= boxes[0])
    throw new Refusal(`There must be at least ${boxes[0]} ${boxes[0] === 1 ? word : boxWords}.`);
  return { ...doc, scene: doc.scene.toSpliced(box, 1) };
}

/** Towers are stacked from the items of each box, lowest first; in a scatter, items stay where they are. */
export function changeKind(doc, kind) {
  if (kind === "scatter") return { ...doc, kind };
  const lower = ({ y, height }) => y + height;
  const boxes = doc.scene.map((box) =>
    box.toSorted((one, other) => lower(other) - lower(one)).slice(0, doc.world.tower.max),
  );
  return withBoxes({ ...doc, kind }, boxes);
}

/** How many items a box of the document can hold. */
export const capacity = ({ world, kind }) => (kind === "tower" ? world.tower.max : world.items[1]);

/** Whether all items have the same value of an attribute: that of the blocks of towers. */
export const isFixed = ({ world, kind }, { name: attribute }) => kind === "tower" && attribute in world.tower.values;

const name = (doc, box) => `${doc.world.box} ${box + 1}`;
const without = (doc, { box, index }) => doc.scene[box].toSpliced(index, 1);

function place({ world, kind }, others, look) {
  const [x, y] = [(world.canvas[0] - look.width) / 2, (world.canvas[1] - look.height) / 2];
  const wanted = { ...look, id: newId(), x, y };
  return kind === "tower" ? wanted : settle(world, wanted, others);
}

function withBoxes(doc, changed) {
  const arrange = doc.kind === "tower" ? (items) => stack(doc.world, items) : (items) => items;
  return { ...doc, scene: doc.scene.map((box, number) => (changed[number] ? arrange(changed[number]) : box)) };
}

function checkRoom(doc, box) {
  const { item, itemWords } = doc.world;
  const most = capacity(doc);
  if (doc.scene[box].length >= most)
    throw new Refusal(
      `${capitalize(name(doc, box))} is full: it holds at most ${most} ${most === 1 ? item : itemWords}.`,
    );
}

function checkCanLose(doc, box) {
  const { items, item, itemWords } = doc.world;
  if (doc.scene[box].length > items[0]) return;
  const least = items[0] === 1 ? `one ${item}` : `${items[0]} ${itemWords}`;
  throw new Refusal(`${capitalize(name(doc, box))} must keep at least ${least}.`);
}
