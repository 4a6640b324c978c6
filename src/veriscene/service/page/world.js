// What scenes can contain, as the service's tables say: boxes, a canvas, and attributes of items with their looks.

const TILE = "#f4f4f4"; // the fill of items without a shape, which are drawn as labelled tiles
const TILE_EDGE = "#777777"; // without it, tiles would vanish on their box
const PLAIN = "#444444"; // the fill of shapes whose world gives none
const DARK_NAMES = ["black", "navy", "blue", "purple", "maroon", "green", "brown"];

export const capitalize = (text) => text[0].toUpperCase() + text.slice(1);
export const withArticle = (text) => `${/^[aeiou]/i.test(text) ? "an" : "a"} ${text}`;

/** An item is a plain object {id, x, y, width, height, values} that is never changed in place. `values` are by attribute:
 *  the name of a choice, or a number. `id` exists only on this page: it follows an item through edits. */
export class World {
  constructor(tree) {
    const { name, canvas, boxes, items, box, item, extent, overlap, whole, touching, towers, fields, abilities } = tree;
    Object.assign(this, { name, canvas, boxes, items, overlap, whole, touching, fields, abilities });
    [this.box, this.boxWords] = box;
    [this.item, this.itemWords] = item;
    this.tree = tree;
    this.background = tree.background ?? null; // of a box
    this.isDark = this.background !== null && isDark(this.background);
    this.attributes = Object.entries(tree.attributes).map(([key, table]) => readAttribute(key, table));
    this.sizes = this.attributes.find((each) => each.choices[0]?.extent) ?? null;
    this.extent = extent && { width: extent[0], height: extent[1] };
    this.hasFreeExtents = !this.sizes && !extent;
    this.gap = Math.min(touching, 1); // left between items that are pushed together
    // Positions are rounded to a fraction of the canvas; an arrow key moves an item by `nudge`.
    this.grid = whole ? 1 : 10 ** Math.floor(Math.log10(Math.min(...canvas) / 200));
    this.nudge = whole ? 1 : 10 * this.grid;
    this.unit = Math.sqrt(canvas[0] * canvas[1]) / 100; // of lines drawn over a picture
    this.isWide = canvas[0] >= 2 * canvas[1]; // such boxes are drawn one below the other
    this.hasRange = boxes[0] < boxes[1];
    this.tower = towers ? this.#readTower(towers) : null;
    this.#assignKeys();
  }

  // ---------------------------------------------------------------- items

  /** Width and height that follow from an item's values; those given, if items state their own. */
  extentOf(values, { width, height } = {}) {
    const choice = this.sizes?.choices.find(({ name }) => name === values[this.sizes.name]);
    return choice ? { width: choice.extent[0], height: choice.extent[1] } : (this.extent ?? { width, height });
  }

  /** Values and extent of the first item that a person adds: the middle of what is ordered, the first of the rest. */
  get plainLook() {
    const middle = ({ kind, choices, low, high, step }) => {
      if (kind === "numeric") return step ? low + step * Math.floor((high - low) / step / 2) : (low + high) / 2;
      return choices[kind === "ordered" ? Math.floor((choices.length - 1) / 2) : 0].name;
    };
    const values = Object.fromEntries(this.attributes.map((each) => [each.name, middle(each)]));
    const side = Math.max(this.grid, Math.round(Math.min(...this.canvas) / 5 / this.grid) * this.grid);
    return { values, ...this.extentOf(values, { width: side, height: side }) };
  }

  /** "small red bottle, price 5€, on offer" */
  describe({ values }) {
    const before = [];
    const after = [];
    let noun = this.item;
    for (const attribute of this.attributes) {
      const value = values[attribute.name];
      const word = attribute.say(value);
      if (attribute.isNoun) noun = word;
      else if (attribute.kind === "numeric" || /^(yes|no|true|false|\d.*)$/i.test(word))
        after.push(`${attribute.word} ${word}`);
      else (word.includes(" ") ? after : before).push(word);
    }
    return [[...before, noun].join(" "), ...after].join(", ");
  }

  /** How an item is drawn: {shape, fill, outline, isMarked, label, ink, turn}. Without a shape it is a tile, which always
   *  has an outline; `isMarked` says that a value asks for it. Numbers are written on the item, unless they shade or turn
   *  it; `turn` is clockwise, in parts of a full turn. */
  look({ values }) {
    const hints = {};
    const drawn = { shade: 0, turn: 0 };
    const labels = [];
    let tile = "";
    for (const { name, kind, draw, isNoun, choices, say } of this.attributes) {
      if (kind === "numeric") {
        if (draw) drawn[draw] = values[name];
        else labels.push(say(values[name]));
        continue;
      }
      const choice = choices.find((each) => each.name === values[name]);
      for (const key of ["fill", "shape", "outline"]) if (choice[key]) hints[key] = choice[key];
      if (choice.label) labels.push(choice.label);
      if (isNoun || (!tile && !choice.fill && !choice.shape)) tile = choice.word;
    }
    const { shape = null, outline = shape ? null : TILE_EDGE } = hints;
    const fill = shaded(hints.fill ?? (shape ? PLAIN : TILE), drawn.shade);
    if (!shape) labels.unshift(tile);
    const [label, ink] = [labels.filter(Boolean).join(" "), isDark(fill) ? "white" : "black"];
    return { shape, fill, outline, isMarked: "outline" in hints, label, ink, turn: drawn.turn };
  }

  /** The next value of an attribute in the direction 1 or -1; null at the end, unless `isCycle`. */
  step({ kind, choices, low, high, step }, value, direction, isCycle = false) {
    if (kind === "numeric") {
      const next = Number((value + direction * (step || (high - low) / 20)).toPrecision(12));
      return next >= low && next <= high ? next : null;
    }
    const index = choices.findIndex(({ name }) => name === value) + direction;
    return (isCycle ? choices.at(index % choices.length) : choices[index])?.name ?? null;
  }

  // ---------------------------------------------------------------- what is allowed

  /** Whether a scene is one of this world, by the rules of the service. */
  isValid(scene) {
    const isWithin = (count, [low, high]) => count >= low && count <= high;
    return (
      isWithin(scene.length, this.boxes) &&
      scene.every(
        (box) =>
          isWithin(box.length, this.items) &&
          box.every((item) => this.#isValidItem(item)) &&
          (this.overlap || box.every((item, at) => box.slice(0, at).every((other) => distance(item, other) >= 0))),
      )
    );
  }

  #isValidItem({ x, y, width, height, values }) {
    const isNumber = this.whole ? Number.isInteger : Number.isFinite;
    const isInside = (at, extent, room) => isNumber(at) && extent > 0 && at >= 0 && at <= room - extent;
    return (
      isInside(x, width, this.canvas[0]) &&
      isInside(y, height, this.canvas[1]) &&
      this.attributes.every(({ name, kind, choices, low, high, step }) => {
        const value = values[name];
        if (kind !== "numeric") return choices.some((choice) => choice.name === value);
        const steps = step ? (value - low) / step : 0;
        return value >= low && value <= high && Math.abs(steps - Math.round(steps)) < 1e-6;
      })
    );
  }

  // ---------------------------------------------------------------- set-up

  /** Blocks have the extent that leaves `touching` between them, stand in the middle, and reach as high as fits. */
  #readTower({ step, ...values }) {
    const height = step - this.touching;
    const size = this.sizes?.choices.find(({ extent }) => extent[1] === height);
    const block = { ...values, ...(size && { [this.sizes.name]: size.name }) };
    const { width } = this.extentOf(block, { width: height });
    const x = Math.floor((this.canvas[0] - width) / 2);
    return { step, values: block, x, width, height, max: Math.floor((this.canvas[1] - height) / step) + 1 };
  }

  /** Plus and minus change the first attribute with an order; each other one has a letter, A excepted, which adds. */
  #assignKeys() {
    this.scaled = this.attributes.find(({ kind }) => kind !== "categorical") ?? null;
    const taken = new Set(["a"]);
    for (const attribute of this.attributes) {
      if (attribute === this.scaled) continue;
      attribute.key = [...attribute.word.toLowerCase()].find((letter) => /\p{L}/u.test(letter) && !taken.has(letter));
      taken.add(attribute.key);
    }
  }
}

function readAttribute(name, table) {
  const { kind, field, words, values = {}, range = [0, 0], step = 0, unit = "", draw = "", noun = false } = table;
  const choices = Object.entries(values).map(([key, table]) => ({ name: key, ...table, word: table.words[0] }));
  const byName = new Map(choices.map((choice) => [choice.name, choice]));
  const isWord = /^\p{L}{3,}$/u.test(unit);
  const measured = (value) => `${value}${isWord ? " " : ""}${isWord && value === 1 ? unit.replace(/s$/, "") : unit}`;
  const say = (value) => (kind === "numeric" ? measured(value) : byName.get(value).word);
  const [low, high] = range;
  return { name, kind, field, word: words[0], choices, low, high, step, unit, draw, isNoun: noun, say, key: null };
}

/** The widest gap between facing edges; negative exactly when the two items overlap. */
export const distance = (one, other) =>
  Math.max(
    one.x - (other.x + other.width),
    other.x - (one.x + one.width),
    one.y - (other.y + other.height),
    other.y - (one.y + one.height),
  );

/** A colour, #rrggbb, mixed with white or, if the shade is below 0, with black. */
function shaded(color, shade) {
  if (!/^#[0-9a-f]{6}$/i.test(color)) return color;
  const [other, share] = [shade > 0 ? 255 : 0, Math.min(Math.abs(shade), 1)];
  const parts = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  const mixed = parts.map((part) => Math.floor(part + (other - part) * share + 0.5));
  return `#${mixed.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

function isDark(color) {
  if (!color.startsWith("#")) return DARK_NAMES.includes(color.toLowerCase());
  const digits = color.length === 7 ? color.slice(1) : [...color.slice(1)].map((digit) => digit + digit).join("");
  const [red, green, blue] = [0, 2, 4].map((start) => parseInt(digits.slice(start, start + 2), 16));
  return 0.3 * red + 0.59 * green + 0.11 * blue < 128;
}
