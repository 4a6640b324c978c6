// Statements and scenes as the arrays that the network reads: a port of the package's data/encoder.py and
// data/vocabulary.py, with equal numbers.

const UNKNOWN = 1;
export const SPECIAL = 2; // words of a vocabulary before the first real one
const MOST_LETTERS = 16;
const FOREIGN = 127; // the code of every character beyond ASCII
const NEAREST = 3; // known words that are offered for an unknown one
const MIN_LIKENESS = 0.75;

export const LETTER = "[\\p{L}\\p{Nl}\\p{No}]"; // as Python's [^\W\d_]
export const SPACES = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"; // Python's \s
const WORD = new RegExp(`${LETTER}+|\\p{Nd}+|[^${SPACES}]`, "gu");

/** Words, numbers and punctuation marks in lower case. */
export const tokenize = (statement) => statement.toLowerCase().match(WORD) ?? [];

/** The codes of the first letters of a word, up to MOST_LETTERS; 0: none. */
export function spell(word) {
  const codes = new Uint8Array(MOST_LETTERS);
  [...word].slice(0, MOST_LETTERS).forEach((letter, at) => {
    const code = letter.codePointAt(0);
    codes[at] = code < 128 ? code : FOREIGN;
  });
  return codes;
}

export class Vocabulary {
  constructor(words) {
    this.words = words;
    this.numbers = new Map(words.map((word, number) => [word, number]));
  }

  encode(statement) {
    return tokenize(statement).map((word) => this.numbers.get(word) ?? UNKNOWN);
  }

  /** Whether each word of a text has a number. Signs are no words. */
  knows(text) {
    return tokenize(text).every((word) => this.numbers.has(word) || !/[\p{L}\p{N}]/u.test(word));
  }
}

// ---------------------------------------------------------------- questions

/** Questions {statement, scene} as arrays; scenes as on the page (see world.js). `positions` tells, for each box, the
 *  index of the item that is read at each place. */
export class Encoder {
  constructor(vocabulary, world) {
    this.vocabulary = vocabulary;
    this.world = world;
    this.look = lookCode(world);
    this.scales = world.attributes.map(scaleOf);
  }

  arrays(questions) {
    const { world } = this;
    const sentences = questions.map(({ statement }) => this.vocabulary.encode(statement));
    const long = Math.max(...sentences.map((sentence) => sentence.length));
    const wide = Math.max(1, ...questions.flatMap(({ scene }) => scene.map((box) => box.length)));
    const boxes = world.boxes[1];
    const size = 2 + world.attributes.reduce((sum, { kind, choices }) => sum + (kind === "categorical" ? choices.length : 1), 0);
    const words = new BigInt64Array(questions.length * long);
    const characters = new Uint8Array(questions.length * long * MOST_LETTERS);
    const features = new Float32Array(questions.length * boxes * wide * size);
    const counts = new BigInt64Array(questions.length * boxes);
    const positions = questions.map(({ statement, scene }, row) => {
      sentences[row].forEach((number, at) => (words[row * long + at] = BigInt(number)));
      tokenize(statement).forEach((word, at) => characters.set(spell(word), (row * long + at) * MOST_LETTERS));
      return scene.map((items, box) => {
        const order = this.readingOrder(items);
        counts[row * boxes + box] = BigInt(items.length);
        order.forEach((index, place) =>
          features.set(this.features(items[index]), ((row * boxes + box) * wide + place) * size),
        );
        return order;
      });
    });
    const batch = questions.length;
    return {
      positions,
      inputs: {
        words: ["int64", words, [batch, long]],
        lengths: ["int64", BigInt64Array.from(sentences, ({ length }) => BigInt(length)), [batch]],
        features: ["float32", features, [batch, boxes, wide, size]],
        counts: ["int64", counts, [batch, boxes]],
        characters: ["uint8", characters, [batch, long, MOST_LETTERS]],
      },
    };
  }

  features({ x, y, values }) {
    const [width, height] = this.world.canvas;
    const found = [(2 * x) / width - 1, (2 * y) / height - 1];
    this.world.attributes.forEach(({ name, kind, choices }, at) => {
      if (kind === "categorical") found.push(...choices.map((choice) => Number(choice.name === values[name])));
      else {
        const { low, high, number } = this.scales[at];
        found.push((2 * (number(values[name]) - low)) / (high - low || 1) - 1);
      }
    });
    return found;
  }

  /** The index of the item that is read at each place: a scramble that depends on what the box holds only. */
  readingOrder(items) {
    const rows = this.world.canvas[1] + 1;
    const mixed = items.map((item) =>
      mix((Math.round(item.x) * rows + Math.round(item.y)) * this.look.base + this.look.code(item)),
    );
    const wholeBox = mix(mixed.reduce((sum, each) => (sum + each) >>> 0, 0));
    const keys = mixed.map((each) => mix((each ^ wholeBox) >>> 0));
    return [...items.keys()].sort((one, other) => keys[one] - keys[other]);
  }
}

/** The numbers that become the features -1 and 1, and the number behind a value. */
function scaleOf({ kind, choices, low, high }) {
  if (kind === "numeric") return { low, high, number: (value) => value };
  const rank = (value) => choices.findIndex(({ name }) => name === value);
  if (!choices.every(({ extent }) => extent)) return { low: 0, high: choices.length - 1, number: rank };
  const widths = choices.map(({ extent }) => extent[0]);
  return { low: Math.min(...widths), high: Math.max(...widths), number: (value) => widths[rank(value)] };
}

/** The weight of the position in an item's code, and what its values add to it. */
function lookCode({ attributes }) {
  const weights = new Map();
  let weight = 1;
  for (const attribute of attributes.filter(({ kind }) => kind === "categorical")) {
    weights.set(attribute, weight);
    weight *= attribute.choices.length + 1;
  }
  for (const attribute of attributes.filter(({ kind }) => kind !== "categorical").reverse()) {
    weights.set(attribute, weight);
    weight *= 101;
  }
  const digit = (attribute, value) => {
    if (attribute.kind === "categorical") return attribute.choices.findIndex(({ name }) => name === value) + 1;
    const { low, high, number } = scaleOf(attribute);
    return Math.round((100 * (number(value) - low)) / (high - low || 1));
  };
  const code = ({ values }) =>
    attributes.reduce((sum, each) => sum + weights.get(each) * digit(each, values[each.name]), 0);
  return { base: weight, code };
}

/** A 32-bit hash without structure. */
function mix(number) {
  let mixed = number >>> 0;
  for (let round = 0; round < 2; round++) mixed = Math.imul((mixed >>> 16) ^ mixed, 0x45d9f3b) >>> 0;
  return ((mixed >>> 16) ^ mixed) >>> 0;
}

// ---------------------------------------------------------------- words that look alike

/** As Python's difflib.get_close_matches. */
export function closeMatches(word, known) {
  const scored = known.map((each) => [likeness([...each], [...word]), each]).filter(([score]) => score >= MIN_LIKENESS);
  scored.sort(([one, a], [other, b]) => other - one || (a < b ? 1 : -1));
  return scored.slice(0, NEAREST).map(([, each]) => each);
}

function likeness(one, other) {
  const matched = (low, high, from, to) => {
    let [start, at, size] = [low, from, 0];
    for (let i = low; i < high; i++) {
      for (let j = from; j < to; j++) {
        let length = 0;
        while (i + length < high && j + length < to && one[i + length] === other[j + length]) length++;
        if (length > size) [start, at, size] = [i, j, length];
      }
    }
    if (!size) return 0;
    return size + matched(low, start, from, at) + matched(start + size, high, at + size, to);
  };
  return (2 * matched(0, one.length, 0, other.length)) / (one.length + other.length || 1);
}
