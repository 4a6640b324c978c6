// The document with undo and redo, and its link.

import { decode, encode } from "./scene.js";
import { isTowers } from "./geometry.js";

const MOST_STEPS = 200;
const PAUSE = 1000; // milliseconds after which typing or moving on starts a new step

/** Holds an immutable document; `onChange` is called after each change. */
export class Store {
  #past = [];
  #future = [];
  #step = { name: null, at: 0 };

  constructor(doc, onChange) {
    this.doc = doc;
    this.onChange = onChange;
  }

  /** Changes of the same step, without a pause between them, are undone together. */
  change(doc, step = null) {
    const now = performance.now();
    const isSameStep = step !== null && step === this.#step.name && now - this.#step.at < PAUSE;
    this.#step = { name: step, at: now };
    if (!isSameStep) this.#past = [...this.#past.slice(1 - MOST_STEPS), this.doc];
    this.#future = [];
    this.#set(doc);
  }

  get canUndo() {
    return this.#past.length > 0;
  }
  get canRedo() {
    return this.#future.length > 0;
  }

  undo() {
    if (!this.canUndo) return;
    this.#future.push(this.doc);
    this.#travel(this.#past.pop());
  }

  redo() {
    if (!this.canRedo) return;
    this.#past.push(this.doc);
    this.#travel(this.#future.pop());
  }

  #travel(doc) {
    this.#step = { name: null, at: 0 };
    this.#set(doc);
  }

  #set(doc) {
    this.doc = doc;
    this.onChange();
  }
}

/** The part of the address after "#" that restores statement, scene and models. */
export function toLink(doc, models) {
  const fields = { s: doc.statement, b: encode(doc.scene), ...(models.length && { m: models.join(" ") }) };
  return `#${new URLSearchParams(fields)}`;
}

/** {doc, models}, or null if the link holds no valid scene. */
export function fromLink(hash) {
  const fields = new URLSearchParams(hash.slice(1));
  const scene = decode(fields.get("b") ?? "");
  if (scene === null) return null;
  return { doc: newDoc(fields.get("s") ?? "", scene), models: (fields.get("m") ?? "").split(" ").filter(Boolean) };
}

export const newDoc = (statement, scene) => ({ statement, scene, kind: isTowers(scene) ? "tower" : "scatter" });
