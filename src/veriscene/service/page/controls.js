// The look of the selected or the next item, the choice of models, and pictures from files.

import { isFixed } from "./edits.js";
import { at, body, svg } from "./drawing.js";
import { capitalize } from "./world.js";

const MAX_BUTTONS = 10; // values beyond which an attribute is a list
const byId = (id) => document.getElementById(id);

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** A control for each attribute of a world. Calls back: `choose(change)` with some of {values, width, height}. */
export class Palette {
  #world = null;
  #controls = [];

  constructor(choose) {
    this.choose = choose;
  }

  /** `item`: the selected one, or null: `look` is that of the next. */
  render(doc, item, look) {
    if (doc.world !== this.#world) this.#build(doc.world);
    const { world } = doc;
    byId("look-of").textContent = item ? capitalize(world.describe(item)) : `Next ${world.item}`;
    byId("delete").disabled = !item;
    for (const control of this.#controls) {
      control.root.disabled = control.attribute !== null && isFixed(doc, control.attribute);
      control.show(control.read(item ?? look));
    }
  }

  #build(world) {
    this.#world = world;
    const ofAttribute = (attribute) => {
      const choose = (value) => this.choose({ values: { [attribute.name]: value } });
      const read = ({ values }) => values[attribute.name];
      const { kind, choices, low, high, step, unit } = attribute;
      const name = capitalize(attribute.word);
      if (kind === "numeric") return { attribute, read, ...numberControl(name, { low, high, step, unit }, choose) };
      if (choices.length > MAX_BUTTONS) return { attribute, read, ...listControl(name, choices, choose) };
      return { attribute, read, ...buttonsControl(world, attribute, choose) };
    };
    const ofExtent = (side, room) => {
      const range = { low: world.grid, high: room, step: 0, unit: "" };
      const control = numberControl(capitalize(side), range, (value) => this.choose({ [side]: value }));
      return { attribute: null, read: (look) => look[side], ...control };
    };
    this.#controls = world.attributes.map(ofAttribute);
    if (world.hasFreeExtents)
      this.#controls.push(ofExtent("width", world.canvas[0]), ofExtent("height", world.canvas[1]));
    byId("palette").replaceChildren(...this.#controls.map(({ root }) => root));
  }
}

/** A number with its unit. What is out of range is not chosen. */
function numberControl(name, { low, high, step, unit }, choose) {
  const input = make("input", { type: "number", min: low, max: high, step: step || "any", required: true });
  input.addEventListener("input", () => input.validity.valid && choose(Number(input.value)));
  const label = make("label", {}, make("span", { textContent: name }), input, unit);
  let shown = null;
  const show = (value) => {
    if (document.activeElement !== input || value !== shown)
      if (Number(input.value) !== value || input.value === "") input.value = value;
    shown = value;
  };
  input.addEventListener("blur", () => show(shown));
  return { root: make("fieldset", { className: "number" }, label), show };
}

function listControl(name, choices, choose) {
  const list = make("select", {}, ...choices.map((choice) => new Option(choice.word, choice.name)));
  list.addEventListener("change", () => choose(list.value));
  const show = (value) => {
    list.value = value;
  };
  return { root: make("fieldset", { className: "number" }, make("label", {}, name, list)), show };
}

/** Radio buttons: swatches for values that say how items look, words for others. */
function buttonsControl(world, attribute, choose) {
  const { choices, word } = attribute;
  const inputs = choices.map(({ name }) => {
    const input = make("input", { type: "radio", name: `value-${attribute.name}`, value: name });
    input.addEventListener("change", () => choose(name));
    return input;
  });
  const hasPictures = choices.every(({ fill, shape, extent }) => fill || shape || extent);
  const labels = choices.map((choice, at) => {
    const face = hasPictures
      ? make("span", {}, icon(world, choice), make("span", { className: "hidden", textContent: choice.word }))
      : make("span", { textContent: choice.word });
    return make("label", { title: choice.word }, inputs[at], face);
  });
  const legend = make("legend", { className: "hidden", textContent: capitalize(word) });
  const show = (value) => {
    for (const input of inputs) input.checked = input.value === value;
  };
  return { root: make("fieldset", { className: "choice" }, legend, ...labels), show };
}

/** What one value says about the look of an item. */
function icon(world, { fill, shape, extent }) {
  const largest = Math.max(...(world.sizes?.choices ?? []).flatMap((choice) => choice.extent), 1);
  const [width, height] = extent ? extent.map((side) => (30 * side) / largest) : [20, 20];
  const look = { shape: shape ?? (fill ? "circle" : "square"), fill: fill ?? "currentColor", outline: null, label: "" };
  const place = { x: (30 - width) / 2, y: (30 - height) / 2 };
  const drawn = svg("g", { transform: at(place) }, ...body(look, { width, height }, fill ? "swatch" : "icon"));
  return svg("svg", { viewBox: "0 0 30 30", "aria-hidden": "true" }, drawn);
}

/** What keys do in this world. */
export function describeKeys(world) {
  const letters = world.attributes
    .filter(({ key }) => key)
    .map(({ key, word }, number) => `${key.toUpperCase()} ${number ? "" : "changes "}its ${word}`);
  if (world.scaled) letters.push(`plus and minus ${letters.length ? "" : "change "}its ${world.scaled.word}`);
  const most = Math.min(world.boxes[1], 9);
  const numbers = most > 1 ? `A number up to ${most} puts it into that ${world.box}. ` : "";
  return (
    `Tab selects ${world.item === "item" ? "an item" : `one of the ${world.itemWords}`}. Arrow keys move it, with Shift ` +
    `ten times as far. ${letters.join(", ")}. ${numbers}Delete removes it, A adds another. Control Z undoes.`
  );
}

/** Closes a menu on Escape, and when something else is pressed or focused. */
function closeOutside(menu) {
  const close = () => {
    menu.open = false;
  };
  menu.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    close();
    menu.querySelector("summary").focus();
  });
  for (const event of ["pointerdown", "focusin"])
    document.addEventListener(event, ({ target }) => menu.contains(target) || close());
}

/** Asks whether what towers do not keep may be discarded. */
export function askToRestack({ tower, attributes, itemWords }) {
  const fixed = attributes.filter(({ name }) => name in tower.values).map(({ word }) => word);
  const lost = fixed.join(", ").replace(/, (?=[^,]*$)/, " and ");
  byId("restack-text").textContent =
    `In towers, ${itemWords} are stacked${lost && ` and have the same ${lost}`}. What they have now is discarded.`;
  const dialog = byId("restack");
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

/** The two lists of models. Calls back: `choose(names)` with one or two names. */
export class Models {
  #models = [];

  constructor(choose) {
    this.lists = [byId("model"), byId("other-model")];
    closeOutside(byId("models"));
    for (const list of this.lists)
      list.addEventListener("change", () => choose(this.sameWorld(this.lists.map(({ value }) => value))));
  }

  fill(models) {
    this.#models = models;
    this.standard = models.find((model) => model.default)?.name ?? "";
    this.lists[0].replaceChildren(...models.map(option));
    byId("models").hidden = models.length < 2;
  }

  isKnown(name) {
    return this.#models.some((model) => model.name === name);
  }

  /** The names without those of models that judge another world than the first, or that are unknown. */
  sameWorld(names) {
    const known = names.filter((name) => this.isKnown(name));
    return known.filter((name) => this.#worldOf(name) === this.#worldOf(known[0]));
  }

  /** No name stands for the service's default. */
  render([one = this.standard, other = ""]) {
    this.lists[0].value = one;
    const world = this.#worldOf(one);
    if (world !== this.world) {
      const others = this.#models.filter((model) => model.world === world);
      this.lists[1].replaceChildren(new Option("none", ""), ...others.map(option));
      this.world = world;
    }
    this.lists[1].value = other;
    byId("model-shown").textContent = other ? `${one}, ${other}` : one;
  }

  #worldOf(name) {
    return this.#models.find((model) => model.name === name)?.world;
  }
}

const option = ({ name, dev_accuracy: accuracy }) =>
  new Option(accuracy == null ? name : `${name} (${(100 * accuracy).toFixed(1)} %)`, name);

/** Pictures chosen or dropped anywhere on the page. Calls back: `canOpen()`, `open(file)`. */
export function takePictures(canOpen, open) {
  const input = byId("picture");
  byId("open-picture").addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    if (input.files.length) open(input.files[0]);
    input.value = "";
  });
  const hasFiles = (event) => canOpen() && event.dataTransfer?.types.includes("Files");
  const cover = (isOver) => byId("drop").classList.toggle("over", isOver);
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    cover(true);
  });
  addEventListener("dragleave", (event) => event.relatedTarget === null && cover(false));
  addEventListener("drop", (event) => {
    cover(false);
    if (!hasFiles(event)) return;
    event.preventDefault();
    open(event.dataTransfer.files[0]);
  });
}
