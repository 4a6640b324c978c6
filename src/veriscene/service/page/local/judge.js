// The judge: a network and a reader, put together as in the package's judge/judge.py and judge/reading.py.

import { readingOf } from "./describe.js";
import { Encoder, SPECIAL, Vocabulary, closeMatches, tokenize } from "./encoding.js";
import { Language } from "./program.js";
import { Reader, splitWords } from "./reader.js";

const SURE_DIALECT = 0.9; // from which on the network decides alone
const MAX_OUTSIDE = 0.1; // probability of being about something else up to which a statement counts as understood
const MIN_CERTAINTY = 0.3; // of a reading in plain English
const CERTAINTIES = [0.3, 0.6, 0.85, 0.95, 0.985];
const LOG_ODDS = [0.5, 1.0, 1.6, 2.1, 3.7];
const MAX_LOG_ODDS = 5;
const DISPUTED_LOG_ODDS = 1.1; // at most, where network and reader disagree
const NETWORK_IN_PLAIN = 0.1;
const GROUP = 16; // questions per run of the network

export class Judge {
  /** `about`: {vocabulary, reader, offers}; `run(graph, inputs)` runs the "network", "encoder" or "decoder" on arrays
   *  [type, data, shape], by name, and returns such arrays. */
  constructor(about, world, run) {
    this.world = world;
    this.run = run;
    this.offers = about.offers;
    this.vocabulary = new Vocabulary(about.vocabulary);
    this.encoder = new Encoder(this.vocabulary, world);
    this.reader = new Reader(about.reader, new Language(world), run);
  }

  /** The verdict on a statement about a scene, as the service gives it. */
  async judge(statement, scene, { attention = false } = {}) {
    const [verdict] = await this.judgeMany(statement, [scene], { attention });
    return verdict;
  }

  /** The verdicts on one statement about several scenes. `pause()` is called before each run of the network. */
  async judgeMany(statement, scenes, { attention = false, pause = async () => {} } = {}) {
    const reading = await this.reader.read(statement);
    const isNew = this.isNew(statement);
    const unknownWords = this.unknownWords(statement);
    const verdicts = [];
    for (let start = 0; start < scenes.length; start += GROUP) {
      const group = scenes.slice(start, start + GROUP);
      await pause();
      const judged = await this.#byNetwork(statement, group);
      group.forEach((scene, at) =>
        verdicts.push({
          ...combine(judged[at].probability, reading, scene, isNew),
          per_box: null,
          order: null,
          unknown_words: unknownWords,
          ...(attention && { attention: judged[at].attention }),
        }),
      );
    }
    return verdicts;
  }

  /** The words that neither network nor reader knows, each with the nearest of those that are offered. */
  unknownWords(statement) {
    const isKnown = (word) => this.vocabulary.knows(word) || this.reader.knows(word);
    const unknown = new Set(splitWords(statement).filter((word) => !isKnown(word)));
    return Object.fromEntries([...unknown].map((word) => [word, closeMatches(word, this.offers)]));
  }

  /** Whether a statement has a word that the network neither knows nor, by its letters, takes for one that it knows. */
  isNew(statement) {
    const unknown = tokenize(statement).filter((word) => !this.vocabulary.knows(word));
    return unknown.some((word) => !closeMatches(word, this.vocabulary.words.slice(SPECIAL)).length);
  }

  async #byNetwork(statement, scenes) {
    const { inputs, positions } = this.encoder.arrays(scenes.map((scene) => ({ statement, scene })));
    const { logits, alpha, beta } = await this.run("network", inputs);
    const words = tokenize(statement);
    const [, boxes, long, wide] = alpha[2];
    return scenes.map((scene, row) => {
      // Where each item of the scene was read.
      const places = positions[row].map((order) => order.map((_, index) => order.indexOf(index)));
      const toItems = places.map((at, box) =>
        words.map((_, word) => at.map((place) => alpha[1][((row * boxes + box) * long + word) * wide + place])),
      );
      const toWords = places.map((at, box) =>
        at.map((place) => words.map((_, word) => beta[1][((row * boxes + box) * wide + place) * long + word])),
      );
      return {
        probability: 0.5 + 0.5 * Math.tanh(logits[1][row] / 2),
        attention: { words, words_to_items: toItems, items_to_words: toWords },
      };
    });
  }
}

/** What network and reader say together. `isNew`: there are words that the network does not know, so that the reader decides. */
export function combine(probability, { program, certainty, dialect, outside }, scene, isNew) {
  const known = isNew ? 0 : dialect > SURE_DIALECT ? 1 : dialect;
  const isUnsure = program === null || certainty < MIN_CERTAINTY;
  if (outside > MAX_OUTSIDE || (known < 0.5 && isUnsure))
    return { probability: 0.5, verdict: null, understood: false, reading: null, disputed: false };
  const seen = logOdds(probability);
  const verdict = (odds, reading, disputed) => {
    const found = 1 / (1 + Math.exp(-clamp(odds)));
    return { probability: found, verdict: found > 0.5, understood: true, reading, disputed };
  };
  if (program === null) return verdict(seen, null, false);
  const holds = program.holds(scene);
  const read = interpolate(certainty) * (holds ? 1 : -1);
  const together = known * seen + (1 - known) * (read + NETWORK_IN_PLAIN * seen);
  program.reading ??= readingOf(program);
  const isDisputed = holds !== together > 0;
  return verdict(isDisputed ? clamp(together, DISPUTED_LOG_ODDS) : together, program.reading, isDisputed);
}

const clamp = (odds, most = MAX_LOG_ODDS) => Math.max(-most, Math.min(most, odds));

function logOdds(probability) {
  const inside = Math.min(Math.max(probability, 1e-6), 1 - 1e-6);
  return clamp(Math.log(inside / (1 - inside)));
}

/** How sure a program's truth is, in log-odds, by the certainty of the reading. */
function interpolate(certainty) {
  const at = CERTAINTIES.findIndex((each) => certainty < each);
  if (at === 0) return LOG_ODDS[0];
  if (at < 0) return LOG_ODDS.at(-1);
  const share = (certainty - CERTAINTIES[at - 1]) / (CERTAINTIES[at] - CERTAINTIES[at - 1]);
  return LOG_ODDS[at - 1] + share * (LOG_ODDS[at] - LOG_ODDS[at - 1]);
}
