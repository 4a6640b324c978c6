// The reader: two graphs that turn a statement into a program, one token after the other. A port of the package's
// data/reader.py and judge/onnx_judge.py.

import { LETTER, SPACES } from "./encoding.js";
import { NUMBERS } from "./describe.js";
import { NoProgram, arity } from "./program.js";

const START = 1;
const END = 2;
const [PLAIN, DIALECT, OUTSIDE] = [3, 4, 5]; // the first token: how a statement is worded
const SPECIAL = 6; // tokens that are no part of a program
const UNKNOWN = 1; // of words; 0 is padding
const MAX_NGRAMS = 20;
const CACHED = 512; // readings of the most recent statements
const NOT_UNDERSTOOD = { program: null, certainty: 0, dialect: 0, outside: 1 };
const WORD = new RegExp(
  `${LETTER}+(?:'${LETTER}+)?|\\p{Nd}+(?:\\.\\p{Nd}+)?|[^\\p{L}\\p{N}_${SPACES}]`,
  "gu",
);

const RANGE = /(?<![\p{Nd}.–-])(\p{Nd}+)[–-](\p{Nd}+)(?![\p{Nd}.–-])/gu;
const SIGNS = { "<=": "at most", "≤": "at most", ">=": "at least", "≥": "at least", "<": "fewer than", ">": "more than" };
const SIGN = /(<=|>=|[<>≤≥])(?=\p{Nd})/gu;
const QUOTED = /^\s*(['*`_]{1,2})(?=[\p{L}\p{N}_])(.*)(?<=[\p{L}\p{N}_.?!])\1\s*$/su;

/** The words, numbers and signs of a statement, in lower case. Some signs become words: "2-3" and "<3". */
export function splitWords(statement) {
  let text = statement.toLowerCase().replaceAll("’", "'");
  text = QUOTED.exec(text)?.[2] ?? text;
  return text.replace(RANGE, "$1 to $2").replace(SIGN, (sign) => ` ${SIGNS[sign]} `).match(WORD) ?? [];
}

/** Whether a statement has a negative number. */
export const hasNegativeNumber = (text) => NEGATIVE.test(text);
const NEGATIVE = new RegExp(
  "(?:^|\\(|\\b(?:is|are|has|have|with|holds?|contains?|only|just|than|least|most|exactly|of|to|by|equals?)\\s)" +
    `\\s*(?:[-−–]\\p{Nd}|minus (?:\\p{Nd}|(?:${NUMBERS.join("|")})\\b))`,
  "iu",
);

const LARGEST_USUAL_NUMBER = 12;
const LARGE = new Map([
  ...NUMBERS.map((word, number) => [word, number]),
  ...["thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"].map((word, at) => [word, 30 + 10 * at]),
  ...[["hundred", 100], ["thousand", 1000], ["million", 1000000]],
]);

/** The numbers above twelve among the words of a statement; none if they are percentages. */
export function largeNumbers(words) {
  if (words.some((word) => ["%", "percent", "cent"].includes(word))) return [];
  const numbers = words.map((word) => LARGE.get(word) ?? (/^[0-9]+$/.test(word) ? Number(word.slice(0, 9)) : 0));
  return numbers.filter((number) => number > LARGEST_USUAL_NUMBER);
}

const CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

function crc32(text) {
  let value = 0xffffffff;
  for (const byte of new TextEncoder().encode(text)) value = CRC[(value ^ byte) & 255] ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}

/** The hashed letter n-grams of a word, of two to four letters; 0 is padding. */
export function ngramsOf(word, buckets) {
  const letters = ["<", ...word, ">"];
  const found = new Set();
  for (const size of [3, 4, 2])
    for (let at = 0; at + size <= letters.length; at++) found.add(letters.slice(at, at + size).join(""));
  const numbers = [...found].slice(0, MAX_NGRAMS).map((each) => 1 + (crc32(each) % (buckets - 1)));
  return [...numbers, ...Array(MAX_NGRAMS - numbers.length).fill(0)];
}

export class Reader {
  #known = new Map();

  /** `about`: {config, words, tokens}; `run(graph, inputs)` runs "encoder" or "decoder" and returns its outputs. */
  constructor({ config, words, tokens }, language, run) {
    Object.assign(this, { config, tokens, language, run });
    this.numbers = new Map(words.map((word, number) => [word, number + 2]));
    this.arities = tokens.map((token, number) => (number < SPECIAL ? 1 : arity(token)));
  }

  /** Whether it was taught the word; signs and numbers count as known. */
  knows(word) {
    return !/\p{L}/u.test(word) || splitWords(word).every((part) => this.numbers.has(part));
  }

  /** {program, certainty, dialect, outside}; the program is null if there is none. */
  async read(statement) {
    if (!this.#known.has(statement)) {
      if (this.#known.size > CACHED) this.#known.clear();
      this.#known.set(statement, this.#read(statement));
    }
    return this.#known.get(statement);
  }

  async #read(statement) {
    // Taught no negative numbers, which this world does not have, it would take -1 for 1.
    if (hasNegativeNumber(statement)) return NOT_UNDERSTOOD;
    const words = splitWords(statement).slice(0, this.config.max_words);
    const { tokens, certainty, first } = await this.write(words);
    let program = null;
    const told = tokens.slice(1, -1).map((each) => this.tokens[each]);
    // Larger numbers are rare where readers learn, and some look like small ones: "sixteen" and "six".
    if (!largeNumbers(words).every((number) => told.includes(`value ${number}`))) return NOT_UNDERSTOOD;
    try {
      if (tokens.at(-1) === END) program = this.language.program(told);
    } catch (error) {
      if (!(error instanceof NoProgram)) throw error;
    }
    return { program, certainty, dialect: Math.exp(first[DIALECT]), outside: Math.exp(first[OUTSIDE]) };
  }

  /** The most probable tokens, one by one; the least probability of those after the first; and the log probabilities of
   *  all first tokens. A program ends as soon as it has all its arguments and not before. */
  async write(words) {
    const { ngrams: buckets, layers, heads, dim, max_tokens: most } = this.config;
    const long = Math.max(1, words.length);
    const numbers = new BigInt64Array(long);
    const ngrams = new BigInt64Array(long * MAX_NGRAMS);
    words.forEach((word, at) => {
      numbers[at] = BigInt(this.numbers.get(word) ?? UNKNOWN);
      ngramsOf(word, buckets).forEach((each, place) => (ngrams[at * MAX_NGRAMS + place] = BigInt(each)));
    });
    const { statement, mask } = await this.run("encoder", {
      words: ["int64", numbers, [1, long]],
      ngrams: ["int64", ngrams, [1, long, MAX_NGRAMS]],
    });
    let past = ["float32", new Float32Array(0), [layers, 2, 1, heads, 0, dim / heads]];
    const tokens = [];
    let [token, missing, certainty, first] = [START, 1, 1, null];
    for (let place = 0; place < most - 1; place++) {
      const { scores, now } = await this.run("decoder", {
        token: ["int64", BigInt64Array.of(BigInt(token)), [1, 1]],
        place: ["int64", BigInt64Array.of(BigInt(place)), [1]],
        statement,
        mask,
        past,
      });
      const [, found] = scores;
      token = best(found, ...(missing === 0 ? [END, END + 1] : place ? [SPECIAL, found.length] : [PLAIN, SPECIAL]));
      tokens.push(token);
      if (token === END) break;
      if (place === 0) {
        first = Float32Array.from(found);
        missing = token === OUTSIDE ? 0 : 1;
      } else {
        certainty = Math.min(certainty, Math.exp(found[token]));
        missing += this.arities[token] - 1;
      }
      past = now;
    }
    return { tokens, certainty, first };
  }
}

/** The place of the greatest number from `low` on, below `high`. */
function best(numbers, low, high) {
  let at = low;
  for (let each = low + 1; each < high; each++) if (numbers[each] > numbers[at]) at = each;
  return at;
}
