// Runs parts of the page's local answers in Node: `node ported.mjs PAGE < {world, tasks: [[name, ...arguments]]}` prints
// the list of results.

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const page = pathToFileURL(`${process.argv[2]}/`);
const module = (name) => import(new URL(name, page));
const { fromWire, itemToWire, toWire } = await module("scene.js");
const { World } = await module("world.js");
const { Language, NoProgram } = await module("local/program.js");
const { readingOf, unparse } = await module("local/describe.js");
const { edits } = await module("local/changes.js");
const { findFlip } = await module("local/search.js");
const { splitWords, ngramsOf, hasNegativeNumber, largeNumbers } = await module("local/reader.js");
const { unpack } = await module("local/weights.js");
const { Judge, combine } = await module("local/judge.js");
const { readBoxes } = await module("local/eyes.js");

const { world: tree, about, tasks } = JSON.parse(readFileSync(0, "utf8"));
const world = new World(tree);
const whole = new Judge(about, world, null);
const { encoder } = whole;
const language = new Language(world);
const scenes = new Map(); // those that several tasks share, by their text
const read = (wire) => {
  const key = JSON.stringify(wire);
  if (!scenes.has(key)) scenes.set(key, fromWire(world, wire));
  return scenes.get(key);
};

function programOf(tokens) {
  try {
    return language.program(tokens);
  } catch (error) {
    if (error instanceof NoProgram) return null;
    throw error;
  }
}

const item = (each) => each && itemToWire(world, each);
const shownEdit = ({ kind, attribute, box, before, after, text }) => ({
  kind,
  attribute,
  box,
  before: item(before),
  after: item(after),
  text,
});

const run = {
  encode(questions) {
    const { inputs, positions } = encoder.arrays(questions.map(({ statement, scene }) => ({ statement, scene: read(scene) })));
    const arrays = Object.entries(inputs).map(([name, [, data, shape]]) => [name, { data: Array.from(data, Number), shape }]);
    return { ...Object.fromEntries(arrays), positions, unknown: questions.map(({ statement }) => whole.unknownWords(statement)), is_new: questions.map(({ statement }) => whole.isNew(statement)) };
  },
  split: (statement, buckets) => splitWords(statement).map((word) => [word, ngramsOf(word, buckets)]),
  negative: (statement) => hasNegativeNumber(statement),
  large: (statement) => largeNumbers(splitWords(statement)),
  program(tokens, shown) {
    const program = programOf(tokens);
    if (!program) return null;
    return {
      text: unparse(program.tree),
      reading: readingOf(program),
      holds: shown.map((scene) => program.holds(read(scene))),
    };
  },
  edits: (scene) => [...edits(world, read(scene))].map(([edit, after]) => ({ ...shownEdit(edit), cost: edit.cost, scene: toWire(world, after) })),
  async search(tokens, scene, mostJudgements) {
    const program = programOf(tokens);
    const judge = async (asked) =>
      asked.map((each) => {
        // A smooth tie breaker: the network's part, in a form that both languages compute alike.
        const bias = each.flat().reduce((sum, { x, y, width }) => sum + ((x * 7 + y * 13 + width * 3) % 101), 0) % 64;
        const probability = program.holds(each) ? 0.5 + (bias + 1) / 130 : 0.5 - (bias + 1) / 130;
        return { probability, verdict: probability > 0.5, understood: true };
      });
    const { flip, judgements, isComplete } = await findFlip(world, read(scene), judge, { program, mostJudgements });
    return { judgements, complete: isComplete, edits: flip && flip.edits.map(shownEdit), scene: flip && toWire(world, flip.scene) };
  },
  unpack: (packed, segments) => Buffer.from(unpack(new Uint8Array(Buffer.from(packed, "base64")), segments)).toString("base64"),
  combine: (probability, { tokens, ...reading }, scene, isNew) =>
    combine(probability, { ...reading, program: tokens && programOf(tokens) }, read(scene), isNew),
  eyes: (values, shape) => toWire(world, readBoxes(world, ["float32", values, shape])),
};

const results = [];
for (const [name, ...given] of tasks) results.push(await run[name](...given));
process.stdout.write(JSON.stringify(results));
