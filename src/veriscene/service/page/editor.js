// The boxes: draws a scene, and turns pointers and keys into edits.

import * as edits from "./edits.js";
import { at, body, ghost, order, outline, svg, turned } from "./drawing.js";
import { find } from "./scene.js";
import { capitalize, withArticle } from "./world.js";

const STEPS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

const narrow = matchMedia("(max-width: 46rem)"); // as in style.css

/** On a narrow screen boxes are small, except the one being edited, after which `palette` is placed.
 *
 *  Calls back: `edit(change, step)` with a function from document to document; `select(id or null)`; `add(box)`;
 *  `hover(id or null)`; `removeBox(box)`. */
export class Editor {
  #boxes = [];
  #elements = new Map(); // of items, by id
  #drag = null;
  #open = null; // number of the box being edited

  constructor(stage, palette, calls) {
    this.stage = stage;
    this.palette = palette;
    this.calls = calls;
    narrow.addEventListener("change", () => this.#openBox(this.#open));
    stage.addEventListener("click", (event) => this.#tap(event));
    stage.addEventListener("pointerdown", (event) => this.#grab(event));
    stage.addEventListener("pointermove", (event) => this.#pull(event));
    // A finger on an item does not scroll the page. (Chromium ignores CSS's touch-action inside an SVG.)
    stage.addEventListener("touchstart", (event) => this.#isHeld(event.target) && event.preventDefault(), { passive: false });
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
    const focused = this.#idOf(document.activeElement);
    this.#removeOthers(doc.world === this.doc?.world ? doc.scene.flat() : []);
    if (!this.#elements.size) this.#open = null; // another scene is seen as a whole first
    this.#fitBoxes(doc);
    this.doc = doc;
    const { world } = doc;
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
      const read = lens.order?.[number].map((index) => items[index]).filter(Boolean) ?? [];
      box.over.replaceChildren(
        ...(lens.edits ?? []).filter((edit) => edit.box === number).map((edit) => ghost(world, edit)),
        ...order(world, read),
      );
      const said = read.map((item) => world.describe(item)).join(", then ");
      box.reading.textContent = said ? `Reading order: ${said}.` : "";
      box.add.disabled = items.length >= edits.capacity(doc);
      box.remove.hidden = !world.hasRange;
      box.remove.disabled = doc.scene.length <= world.boxes[0];
    });
    const chosen = selected === null ? null : find(doc.scene, selected).box;
    const kept = this.#open < doc.scene.length ? this.#open : null;
    this.#openBox(this.#drag ? kept : (chosen ?? kept)); // nothing moves under the finger
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

  /** Makes as many boxes as the scene has, anew for another world. */
  #fitBoxes({ world, scene }) {
    if (world !== this.doc?.world) {
      for (const { figure } of this.#boxes.splice(0)) figure.remove();
      this.stage.style.setProperty("--ratio", `${world.canvas[0]} / ${world.canvas[1]}`);
      this.stage.style.setProperty("--unit", world.unit);
      this.stage.classList.toggle("wide", world.isWide);
    }
    for (const { figure } of this.#boxes.splice(scene.length)) figure.remove();
    while (this.#boxes.length < scene.length) {
      const box = this.#makeBox(world, this.#boxes.length);
      this.#boxes.push(box);
      this.stage.append(box.figure);
    }
    const [width, height] = world.canvas;
    this.stage.style.setProperty("--columns", Math.max(Math.min(scene.length, 4), Math.round((3 * height) / width)));
  }

  #makeBox(world, number) {
    const name = `${world.box} ${number + 1}`;
    const [width, height] = world.canvas;
    const items = svg("g");
    const over = svg("g", { class: "over", "aria-hidden": "true" });
    const picture = svg(
      "svg",
      { class: world.isDark ? "dark" : "light", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": capitalize(world.itemWords) },
      svg("rect", { width, height, class: "floor" }),
      items,
      over,
    );
    if (world.background) picture.style.setProperty("--box", world.background);
    const html = (tag, properties, ...children) => {
      const element = Object.assign(document.createElement(tag), properties);
      element.append(...children);
      return element;
    };
    const button = (textContent, ariaLabel, call) => {
      const element = html("button", { type: "button", textContent, ariaLabel });
      element.addEventListener("click", call);
      return element;
    };
    const score = html("span", { className: "score" });
    const meter = html("meter", { hidden: true, ariaLabel: `Score of ${name}` });
    const add = button("Add", `Add ${withArticle(world.item)} to ${name}`, () => this.calls.add(number));
    const remove = button("Remove", `Remove ${name}`, () => this.calls.removeBox(number));
    const reading = html("p", { className: "hidden" });
    const title = html("span", { textContent: capitalize(name) });
    const caption = html("figcaption", {}, title, meter, score, html("span", { className: "buttons" }, add, remove));
    const figure = html("figure", { ariaLabel: capitalize(name) }, picture, caption, reading);
    return { figure, picture, items, over, score, meter, add, remove, reading };
  }

  #draw(item, number, isSelected) {
    const { world } = this.doc;
    let element = this.#elements.get(item.id);
    if (!element) {
      element = svg("g", {
        class: "item",
        tabindex: 0,
        role: "button",
        "data-id": item.id,
        "aria-roledescription": world.item,
      });
      this.#elements.set(item.id, element);
    }
    if (element.drawn !== item) this.#paint(element, item);
    element.setAttribute("aria-pressed", isSelected);
    element.setAttribute(
      "aria-label",
      `${world.describe(item)}, ${world.box} ${number + 1}, ${item.x} from the left, ${item.y} from the top`,
    );
    return element;
  }

  #paint(element, item) {
    const { world } = this.doc;
    const look = world.look(item);
    const margin = 1.5 * world.unit;
    const frame = { x: -margin, y: -margin, width: item.width + 2 * margin, height: item.height + 2 * margin };
    element.setAttribute("transform", at(item));
    element.replaceChildren(
      svg("rect", { ...frame, rx: margin, class: "frame" }),
      ...body(look, item),
      svg("path", { d: outline(look.shape, item), transform: turned(look, item), class: "glow" }),
    );
    element.drawn = item;
  }

  #openBox(number) {
    this.#open = number;
    this.#boxes.forEach(({ figure }, at) => figure.classList.toggle("open", at === number));
    const before = narrow.matches && number !== null ? this.#boxes[number].figure : this.stage;
    if (this.palette.previousElementSibling === before) return;
    const focused = this.palette.contains(document.activeElement) ? document.activeElement : null;
    before.after(this.palette);
    focused?.focus();
  }

  /** The number of the box of an element; -1: none. */
  #boxOf(element) {
    return this.#boxes.findIndex(({ picture }) => picture.contains(element));
  }

  #isSmall(box) {
    return narrow.matches && !this.doc.world.isWide && box !== this.#open;
  }

  /** Whether the element belongs to an item that can be dragged. */
  #isHeld(element) {
    return this.#idOf(element) !== null && !this.#isSmall(this.#boxOf(element));
  }

  #tap({ target }) {
    const box = this.#boxOf(target);
    if (box < 0 || !this.#isSmall(box)) return;
    this.#openBox(box);
    this.focus(this.#idOf(target));
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
    const number = this.#boxOf(event.target);
    if (event.button !== 0 || !event.isPrimary || number < 0) return;
    if (this.#isSmall(number)) {
      event.preventDefault(); // the tap enlarges the box; the focus would do so under the finger
      return;
    }
    if (id === null) {
      this.calls.select(null);
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
    if (!this.#drag) return;
    const { id } = this.#drag;
    this.#drag = null;
    this.#openBox(find(this.doc.scene, id)?.box ?? this.#open);
    this.focus(id);
  }

  /** Where a pointer is, in units of the canvas. */
  #position(event, box) {
    const { left, top, width } = this.#boxes[box].picture.getBoundingClientRect();
    const scale = this.doc.world.canvas[0] / width;
    return [(event.clientX - left) * scale, (event.clientY - top) * scale];
  }

  // ---------------------------------------------------------------- keys

  #press(event) {
    const id = this.#idOf(event.target);
    if (id === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const { box, index, item } = find(this.doc.scene, id);
    const { edit, add } = this.calls;
    const move = (to, x, y) => edit((doc) => edits.move(doc, id, to, x, y), `move ${id}`);
    const { world } = this.doc;
    const change = (attribute, by, isCycle) => {
      const value = world.step(attribute, item.values[attribute.name], by, isCycle);
      if (value !== null) edit((doc) => edits.restyle(doc, id, { values: { [attribute.name]: value } }));
    };
    const grow = (by) => world.scaled && !edits.isFixed(this.doc, world.scaled) && change(world.scaled, by, false);
    const actions = {
      "+": () => grow(1),
      "=": () => grow(1),
      "-": () => grow(-1),
      a: () => add(box),
      insert: () => add(box),
      escape: () => this.calls.select(null),
      delete: () => this.#remove(id, box, index),
      backspace: () => this.#remove(id, box, index),
    };
    for (const to of this.doc.scene.keys()) actions[to + 1] = () => move(to, item.x, item.y);
    for (const attribute of world.attributes)
      if (attribute.key && !edits.isFixed(this.doc, attribute))
        actions[attribute.key] = () => change(attribute, event.shiftKey ? -1 : 1, true);
    const direction = STEPS[event.key];
    const action = direction
      ? () => this.#nudge(move, item, box, direction, event.shiftKey)
      : actions[event.key.toLowerCase()];
    if (!action) return;
    event.preventDefault();
    action();
  }

  #nudge(move, item, box, [right, down], isFar) {
    const { world, kind, scene } = this.doc;
    if (kind === "tower") {
      const to = Math.min(Math.max(box + right, 0), scene.length - 1);
      return move(to, item.x, item.y + down * world.tower.step);
    }
    const far = world.nudge * (isFar ? 10 : 1);
    return move(box, item.x + right * far, item.y + down * far);
  }

  #remove(id, box, index) {
    if (!this.calls.edit((doc) => edits.remove(doc, id))) return;
    const left = this.doc.scene[box];
    if (left.length) this.focus(left[Math.min(index, left.length - 1)].id);
    else this.#boxes[box].add.focus();
  }
}
