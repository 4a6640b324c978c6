// The document with undo and redo, and its link.

import { encode } from "./scene.js";
import { isTowers } from "./geometry.js";

const MAX_STEPS = 200;
const PAUSE = 1000; // milliseconds after which typing or moving on starts a new step

/** Holds an immutable document; `onChange` is called after each change. */
export class Store {
  #past = [];
  #future = [];
  #step = { name: null, at: 0 };

  constructor(onChange) {
    this.doc = null;
    this.onChange = onChange;
  }

  /** Starts anew: nothing can be undone. */
  reset(doc) {
    this.#past = [];
    this.#future = [];
    this.#travel(doc);
  }

  /** Changes of the same step, without a pause between them, are undone together. */
  change(doc, step = null) {
    const now = performance.now();
    const isSameStep = step !== null && step === this.#step.name && now - this.#step.at < PAUSE;
    this.#step = { name: step, at: now };
    if (!isSameStep) this.#past = [...this.#past.slice(1 - MAX_STEPS), this.doc];
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
export function toLink({ world, statement, scene }, models) {
  const fields = { s: statement, b: encode(world, scene), ...(models.length && { m: models.join(" ") }) };
  return `#${new URLSearchParams(fields)}`;
}

/** {statement, code, models}; `code` is that of a scene, which `decode` reads, or null: the link has none. */
export function fromLink(hash) {
  const fields = new URLSearchParams(hash.slice(1));
  const models = (fields.get("m") ?? "").split(" ").filter(Boolean).slice(0, 2);
  return { statement: fields.get("s") ?? "", code: fields.get("b"), models };
}

export function newDoc(world, statement, scene) {
  return { world, statement, scene, kind: isTowers(world, scene) ? "tower" : "scatter" };
}
