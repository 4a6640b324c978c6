// The three boxes: draws a scene, and turns pointers and keys into edits.

import { COLORS, EXTENT, SHAPES, SIZES, describe, find } from "./scene.js";
import * as edits from "./edits.js";
import { at, ghost, order, outline, svg } from "./drawing.js";

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const BLOCK_STEP = 21;

/** Calls back: `edit(change, step)` with a function from document to document; `select(id or null)`; `add(box)`;
 *  `hover(id or null)`. */
export class Editor {
  #boxes = [];
  #elements = new Map(); // of items, by id
  #drag = null;

  constructor(stage, calls) {
    this.stage = stage;
    this.calls = calls;
    for (let number = 0; number < 3; number++) this.#boxes.push(this.#makeBox(number));
    stage.append(...this.#boxes.map((box) => box.figure));
    stage.addEventListener("pointerdown", (event) => this.#grab(event));
    stage.addEventListener("pointermove", (event) => this.#pull(event));
    // A finger on an item does not scroll the page. (Chromium ignores CSS's touch-action inside an SVG.)
    stage.addEventListener("touchstart", (event) => this.#idOf(event.target) !== null && event.preventDefault(), {
      passive: false,
    });
    for (const end of ["pointerup", "pointercancel"]) stage.addEventListener(end, () => this.#drop());
    stage.addEventListener("keydown", (event) => this.#press(event));
    stage.addEventListener("focusin", (event) => this.#over(event, calls.select));
    stage.addEventListener("focusout", () => calls.hover(null));
    stage.addEventListener("focusin", (event) => this.#over(event, calls.hover));
    stage.addEventListener("pointerover", (event) => this.#over(event, calls.hover));
    stage.addEventListener("pointerout", () => calls.hover(null));
  }

  /** `lens`: what the shown model says of this very scene: {order, perBox, edits}, each null if unknown. */
  render(doc, selected, lens) {
    this.doc = doc;
    const focused = this.#idOf(document.activeElement);
    this.#removeOthers(doc.scene.flat());
    doc.scene.forEach((items, number) => {
      const box = this.#boxes[number];
      items.forEach((item, index) => {
        const element = this.#draw(item, number, item.id === selected);
        const place = box.items.children[index];
        if (place !== element) box.items.insertBefore(element, place ?? null);
      });
      const score = lens.perBox?.[number];
      box.score.textContent = score == null ? "" : `${Math.round(100 * score)} %`;
      box.meter.hidden = score == null;
      box.meter.value = score ?? 0;
      box.meter.ariaValueText = box.score.textContent;
      const read = lens.order?.[number].map((index) => items[index]);
      box.over.replaceChildren(
        ...(lens.edits ?? []).filter((edit) => edit.box === number).map(ghost),
        ...(read ? order(read) : []),
      );
      box.reading.textContent = read ? `Reading order: ${read.map(describe).join(", then ")}.` : "";
      box.add.disabled = items.length >= (doc.kind === "tower" ? 4 : 8);
    });
    // An element that moved to another place of the document has lost the focus.
    if (focused !== null && document.activeElement === document.body) this.focus(focused);
  }

  focus(id) {
    this.#elements.get(id)?.focus({ preventScroll: true });
  }

  /** Shows how much attention each item gets; `weights` from id to 0..1, or null for none. */
  highlight(weights) {
    for (const [id, element] of this.#elements) element.style.setProperty("--weight", weights?.get(id) ?? 0);
  }

  #makeBox(number) {
    const name = `Box ${number + 1}`;
    const items = svg("g");
    const over = svg("g", { class: "over", "aria-hidden": "true" });
    const picture = svg(
      "svg",
      { viewBox: `0 0 ${EXTENT} ${EXTENT}`, role: "group", "aria-label": "Items" },
      svg("rect", { width: EXTENT, height: EXTENT, class: "floor" }),
      items,
      over,
    );
    const html = (tag, properties, ...children) => {
      const element = Object.assign(document.createElement(tag), properties);
      element.append(...children);
      return element;
    };
    const score = html("span", { className: "score" });
    const meter = html("meter", { hidden: true, ariaLabel: `Score of box ${number + 1}` });
    const add = html("button", {
      type: "button",
      className: "add",
      textContent: "Add",
      ariaLabel: `Add an item to box ${number + 1}`,
    });
    const reading = html("p", { className: "hidden" });
    add.addEventListener("click", () => this.calls.add(number));
    const caption = html("figcaption", {}, html("span", { textContent: name }), meter, score, add);
    return {
      figure: html("figure", { ariaLabel: name }, picture, caption, reading),
      picture,
      items,
      over,
      score,
      meter,
      add,
      reading,
    };
  }

  #draw(item, number, isSelected) {
    let element = this.#elements.get(item.id);
    if (!element) {
      element = svg(
        "g",
        { class: "item", tabindex: 0, role: "button", "data-id": item.id, "aria-roledescription": "item" },
        svg("rect", { class: "frame", x: -1.5, y: -1.5, rx: 1.5 }),
        svg("path", { class: "body" }),
        svg("path", { class: "glow" }),
      );
      this.#elements.set(item.id, element);
    }
    const [frame, body, glow] = element.children;
    element.setAttribute("transform", at(item));
    frame.setAttribute("width", item.size + 3);
    frame.setAttribute("height", item.size + 3);
    body.setAttribute("d", outline(item));
    glow.setAttribute("d", outline(item));
    body.dataset.color = item.color;
    element.setAttribute("aria-pressed", isSelected);
    element.setAttribute(
      "aria-label",
      `${describe(item)}, box ${number + 1}, ${item.x} from the left, ${item.y} from the top`,
    );
    return element;
  }

  #removeOthers(items) {
    const kept = new Set(items.map(({ id }) => id));
    for (const [id, element] of this.#elements) {
      if (kept.has(id)) continue;
      element.remove();
      this.#elements.delete(id);
    }
  }

  #idOf(element) {
    const found = element?.closest?.(".item");
    return found && this.stage.contains(found) ? Number(found.dataset.id) : null;
  }

  #over(event, call) {
    const id = this.#idOf(event.target);
    if (id !== null) call(id);
  }

  // ---------------------------------------------------------------- pointers

  #grab(event) {
    const id = this.#idOf(event.target);
    if (event.button !== 0 || !event.isPrimary) return;
    if (id === null) {
      if (event.target.closest("svg")) this.calls.select(null);
      return;
    }
    const { box, item } = find(this.doc.scene, id);
    const [x, y] = this.#position(event, box);
    this.#drag = { id, step: `drag ${event.timeStamp}`, dx: x - item.x, dy: y - item.y };
    this.stage.setPointerCapture(event.pointerId);
    this.focus(id);
  }

  #pull(event) {
    if (!this.#drag) return;
    const { id, step, dx, dy } = this.#drag;
    const current = find(this.doc.scene, id)?.box;
    if (current === undefined) return; // the scene was replaced under the pointer
    const under = this.#boxes.findIndex(({ picture }) => {
      const { left, right, top, bottom } = picture.getBoundingClientRect();
      return event.clientX >= left && event.clientX <= right && event.clientY >= top && event.clientY <= bottom;
    });
    const box = under < 0 ? current : under;
    const [x, y] = this.#position(event, box);
    this.calls.edit((doc) => edits.move(doc, id, box, x - dx, y - dy), step);
  }

  #drop() {
    if (this.#drag) this.focus(this.#drag.id);
    this.#drag = null;
  }

  /** Where a pointer is, in pixels of a box. */
  #position(event, box) {
    const { left, top, width } = this.#boxes[box].picture.getBoundingClientRect();
    return [((event.clientX - left) * EXTENT) / width, ((event.clientY - top) * EXTENT) / width];
  }

  // ---------------------------------------------------------------- keys

  #press(event) {
    const id = this.#idOf(event.target);
    if (id === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const { box, index, item } = find(this.doc.scene, id);
    const { edit, add } = this.calls;
    const move = (to, x, y) => edit((doc) => edits.move(doc, id, to, x, y), `move ${id}`);
    const restyle = (look) => edit((doc) => edits.restyle(doc, id, look));
    const next = (values, value) => values[(values.indexOf(value) + 1) % values.length];
    const grow = (by) => SIZES.includes(item.size + by) && restyle({ size: item.size + by });
    const actions = {
      c: () => restyle({ color: next(COLORS, item.color) }),
      s: () => this.doc.kind === "scatter" && restyle({ shape: next(SHAPES, item.shape) }),
      "+": () => grow(10),
      "=": () => grow(10),
      "-": () => grow(-10),
      1: () => move(0, item.x, item.y),
      2: () => move(1, item.x, item.y),
      3: () => move(2, item.x, item.y),
      a: () => add(box),
      insert: () => add(box),
      escape: () => this.calls.select(null),
      delete: () => this.#remove(id, box, index),
      backspace: () => this.#remove(id, box, index),
    };
    const direction = STEPS[event.key];
    const action = direction
      ? () => this.#nudge(move, item, box, direction, event.shiftKey)
      : actions[event.key.toLowerCase()];
    if (!action) return;
    event.preventDefault();
    action();
  }

  #nudge(move, item, box, [right, down], isFar) {
    if (this.doc.kind === "tower")
      return move(Math.min(Math.max(box + right, 0), 2), item.x, item.y + down * BLOCK_STEP);
    const far = isFar ? 10 : 1;
    return move(box, item.x + right * far, item.y + down * far);
  }

  #remove(id, box, index) {
    if (!this.calls.edit((doc) => edits.remove(doc, id))) return;
    const left = this.doc.scene[box];
    this.focus(left[Math.min(index, left.length - 1)].id);
  }
}
