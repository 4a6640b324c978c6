// How much attention words and items get, scaled to 0..1 for display.

import { find } from "./scene.js";

const LEAST = 1e-6; // avoids a division by zero

/** From id to weight: how much each item gets from a word, given by the places of its tokens. Null if the model tells
 *  nothing about it. An item that is alone in its box has all the attention of every word, which says nothing. */
export function ofItems(attention, scene, tokens) {
  if (!attention?.words_to_items) return null;
  const weight = (box, index) =>
    tokens.reduce((sum, token) => sum + (attention.words_to_items[box][token]?.[index] ?? 0), 0);
  const weights = scene.flatMap((items, box) =>
    items.map(({ id }, index) => [id, items.length > 1 ? weight(box, index) : 0]),
  );
  const most = Math.max(...weights.map(([, value]) => value), LEAST);
  return new Map(weights.map(([id, value]) => [id, value / most]));
}

/** How much each word gets from an item, beyond an equal share: attention to words is often nearly even. */
export function ofWords(attention, scene, id) {
  const found = find(scene, id);
  if (!attention?.items_to_words || !found) return null;
  const weights = attention.items_to_words[found.box][found.index];
  if (!weights) return null; // eyes did not see it
  const share = 1 / weights.length;
  const most = Math.max(Math.max(...weights) - share, LEAST);
  return weights.map((weight) => Math.max(weight - share, 0) / most);
}
