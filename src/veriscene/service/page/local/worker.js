// The worker that runs the models, so that the page stays responsive. It is asked {id, ask, ...} and answers {id, answer}
// or {id, problem}; {cancel: id} ends a search, and {loaded, total} tells how many bytes of the model have arrived.

import { fromWire, itemToWire, toWire } from "../scene.js";
import { World } from "../world.js";
import { readPicture } from "./eyes.js";
import { Judge } from "./judge.js";
import { findFlip } from "./search.js";
import { fetchBytes, unpack } from "./weights.js";

const HOME = new URL("../../", import.meta.url);
const MOST_JUDGEMENTS = 500; // of a search for the smallest change
const cancelled = new Set();

class Cancelled extends Error {}

const at = (path) => new URL(path, HOME);
const manifest = fetchBytes(at("model/site.json.gz")).then((bytes) => JSON.parse(new TextDecoder().decode(bytes)));
let model = null; // a promise of it; a failed one is forgotten, so that asking again loads again

// ---------------------------------------------------------------- models

async function load() {
  const about = await manifest;
  let loaded = 0;
  const file = ({ path }) =>
    fetchBytes(at(path), (count) => postMessage({ loaded: (loaded += count), total: about.bytes }));
  const { runtime, network, reader } = about.files;
  const [wasm, packed, readerWeights, ...graphs] = await Promise.all(
    [runtime, network.weights, reader.weights, network.graph, reader.encoder, reader.decoder].map(file),
  );
  const ort = await openRuntime(wasm);
  const networkWeights = { path: network.weights.name, data: unpack(packed, about.segments) };
  const ofReader = { path: reader.weights.name, data: readerWeights };
  const sessions = {
    network: await open(ort, graphs[0], networkWeights),
    encoder: await open(ort, graphs[1], ofReader),
    decoder: await open(ort, graphs[2], ofReader),
  };
  const world = new World(about.world);
  return { about, ort, world, judge: new Judge(about, world, (graph, inputs) => run(ort, sessions[graph], inputs)) };
}

async function openRuntime(wasm) {
  const ort = await import(at("runtime/ort.wasm.bundle.min.mjs"));
  Object.assign(ort.env.wasm, { numThreads: 1, proxy: false, wasmBinary: wasm.buffer });
  return ort;
}

const open = (ort, graph, weights) =>
  ort.InferenceSession.create(graph, { executionProviders: ["wasm"], externalData: [weights] });

let queue = Promise.resolve(); // a session runs one request at a time
function run(ort, session, inputs) {
  const asked = queue.then(async () => {
    const given = Object.fromEntries(
      Object.entries(inputs).map(([name, [type, data, shape]]) => [name, new ort.Tensor(type, data, shape)]),
    );
    const found = await session.run(given);
    return Object.fromEntries(Object.entries(found).map(([name, { type, data, dims }]) => [name, [type, data, dims]]));
  });
  queue = asked.catch(() => {});
  return asked;
}

function loadOnce() {
  model ??= load();
  model.catch(() => (model = null));
  return model;
}

// ---------------------------------------------------------------- answers

const asks = {
  async about() {
    const { models, world, examples } = await manifest;
    return { models, world, examples };
  },

  async judge({ statement, scene }) {
    const { world, judge } = await loadOnce();
    return judge.judge(statement, fromWire(world, scene), { attention: true });
  },

  async explain({ id, statement, scene: wire }) {
    const { world, judge } = await loadOnce();
    const scene = fromWire(world, wire);
    const pause = async () => {
      await new Promise((resolve) => setTimeout(resolve)); // lets newer questions come first
      if (cancelled.delete(id)) throw new Cancelled();
    };
    const { program } = await judge.reader.read(statement);
    const limits = { program, mostJudgements: MOST_JUDGEMENTS };
    const search = await findFlip(world, scene, (scenes) => judge.judgeMany(statement, scenes, { pause }), limits);
    const { flip, judgements, isComplete } = search;
    return {
      verdict: await judge.judge(statement, scene, { attention: true }),
      counterfactual: flip && describeFlip(world, flip),
      searched: { judgements, complete: isComplete },
      scene: wire,
    };
  },

  async decode({ picture }) {
    const { about, ort, world } = await loadOnce();
    const { graph, weights } = about.files.eyes;
    const [graphBytes, data] = await Promise.all([graph, weights].map(({ path }) => fetchBytes(at(path))));
    const session = await open(ort, graphBytes, { path: weights.name, data });
    const see = async (pixels, shape) => (await run(ort, session, { pictures: ["uint8", pixels, shape] })).cells;
    return toWire(world, await readPicture(world, picture, see));
  },
};

function describeFlip(world, { scene, edits, verdict }) {
  const wire = (item) => item && itemToWire(world, item);
  const shown = edits.map(({ kind, attribute, box, before, after, text }) => ({
    kind,
    attribute,
    box,
    before: wire(before),
    after: wire(after),
    text,
  }));
  return { scene: toWire(world, scene), edits: shown, verdict, text: shown.map(({ text }) => text).join(", then ") };
}

addEventListener("message", async ({ data }) => {
  if (data.cancel) {
    cancelled.add(data.cancel);
    return;
  }
  try {
    postMessage({ id: data.id, answer: await asks[data.ask](data) });
  } catch (error) {
    if (error instanceof Cancelled) return;
    postMessage({ id: data.id, problem: error.message || String(error) });
  } finally {
    cancelled.delete(data.id);
  }
});
