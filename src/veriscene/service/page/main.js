// Connects the document, the answers and what is seen.

import * as attention from "./attention.js";
import * as edits from "./edits.js";
import { AnswerError } from "./answers.js";
import { firstChip, showChips } from "./chips.js";
import { Models, Palette, askToRestack, describeKeys, takePictures } from "./controls.js";
import { Editor } from "./editor.js";
import { Game } from "./game.js";
import { Inquiry } from "./inquiry.js";
import { Panels, spoken } from "./panels.js";
import { decode, encode, find, fromWire } from "./scene.js";
import { asPicture, asPython, copy } from "./share.js";
import { answers, links } from "./source.js";
import { Store, fromLink, newDoc, toLink } from "./store.js";
import { Words } from "./words.js";
import { World, withArticle } from "./world.js";

const CLAIM = "A neural network reads your sentence and decides whether it is true of these #. Try to fool it.";
const byId = (id) => document.getElementById(id);
const store = new Store(changed);
const worlds = new Map(); // of models, by name
let models = []; // one or two names; none: the service's own choice
let shown = 0; // which answer is drawn on the picture
let selected = null; // id of an item
let attended = null; // {word: places of its tokens} or {item: id}: what is pointed at
let look = null; // of the next item: {values, width, height}

const editor = new Editor(byId("boxes"), byId("look"), {
  edit,
  select,
  add,
  removeBox: (box) => edit((doc) => edits.removeBox(doc, box)),
  hover: (id) => attend(id === null ? null : { item: id }),
});
const words = new Words(byId("words"), {
  hover: (word) => attend(word === null ? null : { word }),
  replace: replaceWord,
});
const panels = new Panels(byId("answers"), {
  apply: applyFlip,
  retry: () => inquiry.explain(),
  show: (number) => {
    shown = number;
    render();
  },
});
const palette = new Palette(chooseLook);
const modelLists = new Models((names) => open({ models: names }));
const game = new Game({ ask: drawQuestion, show: showQuestion, render, say });
const inquiry = new Inquiry(() => ({ doc: store.doc, models }), answered);

// ---------------------------------------------------------------- worlds

const firstModel = () => models[0] ?? modelLists.standard;

async function worldOf(model) {
  const tree = await answers.world(model);
  const known = [...worlds.values()].find((world) => JSON.stringify(world.tree) === JSON.stringify(tree));
  worlds.set(model, worlds.get(model) ?? known ?? new World(tree));
  return worlds.get(model);
}

/** What is shown without a link. A service has its own examples; if it has none, a scene with as little as the world
 *  permits. */
async function exampleOf(world, model) {
  const chip = answers.isLocal ? firstChip(world) : null;
  if (chip) return { statement: chip.statement, scene: decode(world, chip.code) };
  try {
    const { statement, scene } = await answers.example(model);
    return { statement, scene: fromWire(world, scene) };
  } catch (error) {
    if (!(error instanceof AnswerError) || error.retryAfter) throw error;
  }
  let doc = newDoc(world, "", []);
  while (doc.scene.length < world.boxes[0]) doc = edits.addBox(doc, world.plainLook);
  return { statement: "", scene: doc.scene };
}

let opening = 0; // the latest call of `open`: answers to older ones come too late
/** Chooses models, and shows a link's scene. A scene of another world than theirs is replaced by an example. */
async function open({ models: names, statement = "", code = null }) {
  const turn = ++opening;
  say("");
  const known = modelLists.sameWorld(names);
  const notes = names.every((name) => modelLists.isKnown(name))
    ? []
    : ["The link names a model that this service does not have."];
  try {
    const model = known[0] ?? modelLists.standard;
    const world = worlds.get(model) ?? (await worldOf(model));
    const scene = code === null ? null : decode(world, code);
    if (code !== null && !scene) notes.push("This link holds no valid scene.");
    const isOther = world !== store.doc?.world;
    const example = isOther && !scene ? await exampleOf(world, model) : null;
    if (turn !== opening) return;
    models = known;
    shown = 0;
    inquiry.forget();
    if (isOther) {
      selected = null;
      look = world.plainLook;
      setUp(world);
      store.reset(newDoc(world, statement || (example?.statement ?? ""), scene ?? example.scene));
    } else if (scene) store.change(newDoc(world, statement, scene));
    else changed();
    say(notes.join(" "));
  } catch (error) {
    if (!(error instanceof AnswerError)) throw error;
    say(error.message);
    if (store.doc) render();
    else if (error.retryAfter) setTimeout(() => open({ models: names, statement, code }), 1000 * error.retryAfter);
  }
}

/** The parts of the page that depend on the world alone. */
function setUp(world) {
  const title = (id, text) => {
    byId(id).textContent = text;
  };
  title("claim", CLAIM.replace("#", world.boxWords));
  byId("kind").hidden = byId("random-tower").hidden = !world.tower;
  title("random", world.tower ? "Random scatter" : "Random");
  byId("open-picture").hidden = byId("about-pictures").hidden = !world.abilities.pictures;
  byId("add-box").hidden = !world.hasRange;
  title("add-box", `Add ${withArticle(world.box)}`);
  byId("look").classList.toggle("roomy", world.attributes.length > 3);
  title("keys", describeKeys(world));
  title("about-drag", world.boxes[1] > 1 ? `, also from ${world.box} to ${world.box}` : "");
  byId("statement").placeholder = `There is ${withArticle(world.describe(world.plainLook).split(",")[0])}.`;
  document.querySelector("main").inert = false;
}

// ---------------------------------------------------------------- changes

function changed() {
  if (selected !== null && !find(store.doc.scene, selected)) selected = null;
  render();
  inquiry.request();
}

function answered() {
  byId("loading").hidden = true;
  render();
  speak();
}

/** Applies an edit; says why if it is refused. Returns whether it was done. */
function edit(change, step) {
  try {
    store.change(change(store.doc), step);
  } catch (error) {
    if (!(error instanceof edits.Refusal)) throw error;
    say(error.message);
    return false;
  }
  say("");
  return true;
}

function select(id) {
  if (selected === id) return;
  selected = id;
  render();
}

function add(box) {
  let id = null;
  const isDone = edit((doc) => {
    const [added, newest] = edits.add(doc, box, look);
    id = newest;
    return added;
  });
  if (isDone) editor.focus(id);
}

function addBox() {
  if (edit((doc) => edits.addBox(doc, look))) document.querySelector("figure:last-of-type").scrollIntoView({ block: "nearest" });
}

function chooseLook(part) {
  const values = { ...look.values, ...part.values };
  look = { values, ...store.doc.world.extentOf(values, { ...look, ...part }) };
  if (selected === null || !edit((doc) => edits.restyle(doc, selected, part))) render();
}

function replaceWord(word, by) {
  const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace("'", "['’]");
  const statement = store.doc.statement.replace(new RegExp(`(?<!\\p{L})${escaped}(?!\\p{L})`, "giu"), by);
  store.change({ ...store.doc, statement });
  byId("statement").focus();
}

function applyFlip(number) {
  const { scene } = inquiry.answers[number].explanation.counterfactual;
  store.change({ ...store.doc, scene: fromWire(store.doc.world, scene, store.doc.scene) });
  say("The change is applied.");
}

/** A new scene, and a statement if one comes with it; says what went wrong. */
async function load(request) {
  say("");
  try {
    const { world } = store.doc;
    const { scene, statement } = await request(firstModel());
    if (world === store.doc.world)
      store.change(newDoc(world, statement ?? store.doc.statement, fromWire(world, scene)));
  } catch (error) {
    if (!(error instanceof AnswerError)) throw error;
    say(error.message);
  }
}

/** Turns the scene into towers or back; asks first if that discards anything but the order of the items. */
async function changeKind(kind) {
  const { doc } = store;
  const { world } = doc;
  const isLoss = encode(world, edits.changeKind(doc, kind).scene) !== encode(world, doc.scene);
  if (!isLoss || (await askToRestack(world))) edit((now) => edits.changeKind(now, kind));
  else render();
}

/** A question whose answer is known, if there are any: {statement, scene, label}. */
async function drawQuestion() {
  const kind = store.doc.world.tower && (Math.random() < 0.5 ? "tower" : "scatter");
  const drawn = await answers.random(firstModel(), kind);
  return drawn.label === null ? answers.example(firstModel()) : drawn;
}

/** Shows a question; `prepare(doc)` is called before anything of it is seen. */
function showQuestion({ statement, scene }, prepare) {
  const { world } = store.doc;
  const doc = newDoc(world, statement, fromWire(world, scene));
  prepare(doc);
  store.change(doc);
}

let chipsOf = null; // the world and the model whose examples are shown
function showExamples(world) {
  const key = `${world.name} ${firstModel()}`;
  if (key === chipsOf) return; // keeps the focus
  chipsOf = key;
  showChips(byId("chips"), world, firstModel(), (statement, code) => {
    say("");
    store.change(newDoc(store.doc.world, statement, decode(store.doc.world, code)));
  });
}

function say(text) {
  byId("message").textContent = text;
}

// ---------------------------------------------------------------- what is seen

/** The shown answer, if its items are still those of the scene: indices into older ones could mean other items. */
function shownAnswer() {
  const answer = inquiry.answers[shown];
  if (!answer?.verdict || !store.doc.statement.trim()) return null;
  const ids = ({ scene }) => scene.map((box) => box.map(({ id }) => id).join()).join(";");
  return ids(answer.doc) === ids(store.doc) ? answer : null;
}

function render() {
  const { doc } = store;
  const field = byId("statement");
  if (field.value !== doc.statement) field.value = doc.statement;
  document.title = doc.statement.trim() ? `${doc.statement} – veriscene` : "veriscene";
  const first = inquiry.answers[0];
  game.render(doc, firstModel(), first?.doc === doc ? first : null);
  const isHidden = game.isHiding(doc);
  byId("answers").hidden = isHidden;
  if (isHidden) byId("spoken").textContent = "";
  const answer = isHidden ? null : shownAnswer();
  byId("show-order").disabled = answer !== null && answer.verdict.order === null;
  editor.render(doc, selected, {
    order: byId("show-order").checked ? answer?.verdict.order : null,
    perBox: answer?.verdict.per_box,
    edits: answer?.doc === doc && byId("show-ghost").checked ? answer.explanation?.counterfactual?.edits : null,
  });
  const read = answer?.doc.statement === doc.statement ? answer.verdict : null;
  words.render(doc.statement, read?.attention?.words ?? null, read?.unknown_words ?? {});
  panels.render(
    (models.length ? models : [null]).map((model, number) => {
      const one = doc.statement.trim() ? inquiry.answers[number] : null;
      return {
        model,
        verdict: one?.verdict,
        problem: one?.problem,
        explanation: one?.doc === doc ? one.explanation : null,
        isBlank: !doc.statement.trim(),
      };
    }),
    shown,
  );
  palette.render(doc, selected === null ? null : find(doc.scene, selected).item, look);
  byId("add-box").disabled = doc.scene.length >= doc.world.boxes[1];
  modelLists.render(models);
  showExamples(doc.world);
  for (const input of byId("kind").querySelectorAll("input")) input.checked = input.value === doc.kind;
  byId("undo").disabled = !store.canUndo;
  byId("redo").disabled = !store.canRedo;
  attend(attended);
  saveLink();
}

/** For screen readers: the verdicts, once each. */
function speak() {
  const name = (number) => (models.length > 1 ? `${models[number]}: ` : "");
  if (game.isHiding(store.doc)) return;
  const text = inquiry.answers
    .map(({ doc, verdict, explanation }, number) =>
      doc === store.doc && verdict ? name(number) + spoken(verdict, explanation) : "",
    )
    .join(" ")
    .trim();
  if (text && byId("spoken").textContent !== text) byId("spoken").textContent = text;
}

/** Highlights what a word or an item, or nothing (null), attends to. */
function attend(to) {
  attended = to;
  const maps = game.isHiding(store.doc) ? null : shownAnswer()?.verdict.attention;
  const { scene } = store.doc;
  editor.highlight(to?.word === undefined ? null : attention.ofItems(maps, scene, to.word));
  words.highlight(to?.item === undefined ? null : attention.ofWords(maps, scene, to.item));
}

// Browsers limit how often the address may change.
let linkTimer = null;
function saveLink() {
  clearTimeout(linkTimer);
  linkTimer = setTimeout(() => history.replaceState(null, "", toLink(store.doc, models)), 250);
}

// ---------------------------------------------------------------- controls

byId("statement").addEventListener("input", ({ target }) => {
  store.change({ ...store.doc, statement: target.value.replace(/\n/g, " ") }, "statement");
});
byId("statement").addEventListener("keydown", (event) => event.key === "Enter" && event.preventDefault());
byId("kind").addEventListener("change", ({ target }) => changeKind(target.value));
byId("undo").addEventListener("click", () => store.undo());
byId("redo").addEventListener("click", () => store.redo());
byId("delete").addEventListener("click", () => edit((doc) => edits.remove(doc, selected)));
byId("add-box").addEventListener("click", addBox);
byId("random").addEventListener("click", () =>
  load((model) => answers.random(model, store.doc.world.tower ? "scatter" : null)),
);
byId("random-tower").addEventListener("click", () => load((model) => answers.random(model, "tower")));
byId("example").addEventListener("click", () => load((model) => answers.example(model)));
takePictures(
  () => store.doc?.world.abilities.pictures,
  (file) => load(async (model) => ({ scene: await answers.decode(model, file) })),
);
for (const id of ["show-order", "show-ghost"]) byId(id).addEventListener("change", render);
// Where the verdict is scrolled away, what is said of it to screen readers is seen at the foot of the window.
new IntersectionObserver(([{ isIntersecting }]) => byId("spoken").classList.toggle("hidden", isIntersecting)).observe(
  byId("answers"),
);
byId("copy-link").addEventListener("click", async () => {
  const link = new URL(toLink(store.doc, models), location.href).href;
  history.replaceState(null, "", link);
  const isCopied = await navigator.clipboard?.writeText(link).then(
    () => true,
    () => false,
  );
  say(isCopied ? "The link is copied." : "The link is in the address bar.");
});
byId("copy-picture").addEventListener("click", async () => {
  const answer = game.isHiding(store.doc) ? null : shownAnswer();
  const verdict = answer?.doc === store.doc ? answer.verdict : null;
  say(`The picture is ${await copy(await asPicture(store.doc, verdict), "veriscene.png")}.`);
});
byId("copy-python").addEventListener("click", async () => {
  say(`The Python is ${await copy(asPython(store.doc, firstModel()), "question.py")}.`);
});
addEventListener("keydown", (event) => {
  const key = event.key.toLowerCase();
  if (!store.doc || !(event.ctrlKey || event.metaKey) || event.altKey || !["z", "y"].includes(key)) return;
  event.preventDefault();
  if (key === "y" || event.shiftKey) store.redo();
  else store.undo();
});
addEventListener("hashchange", () => open(fromLink(location.hash)));

function showLoading({ loaded, total }) {
  const megabytes = (bytes) => Math.round(bytes / 1e6);
  byId("loading").hidden = false;
  byId("loading").textContent =
    loaded < total
      ? `Loading the model: ${megabytes(loaded)} of ${megabytes(total)} MB. It stays on your device.`
      : "Starting the model…";
}

function start() {
  byId("about-local").hidden = !answers.isLocal;
  byId("links").append(
    ...Object.entries(links).map(([textContent, href]) => Object.assign(document.createElement("a"), { textContent, href })),
  );
  ask();
}

function ask() {
  answers.models().then(
    (list) => {
      modelLists.fill(list);
      return open(fromLink(location.hash));
    },
    (error) => {
      say(error.message);
      if (error.retryAfter) setTimeout(ask, 1000 * error.retryAfter);
    },
  );
}
answers.onProgress = showLoading;
start();
