// Connects the document, the service and what is seen.

import * as api from "./api.js";
import * as edits from "./edits.js";
import { Answers, sentence } from "./answers.js";
import { Look, Models, takePictures } from "./controls.js";
import { Editor } from "./editor.js";
import { decode, find, fromWire, toWire } from "./scene.js";
import { Store, fromLink, newDoc, toLink } from "./store.js";
import { Words } from "./words.js";

const JUDGE_DELAY = 60; // milliseconds
const EXPLAIN_DELAY = 400;
const FIRST = newDoc("There is a tower with exactly two yellow blocks.",
  decode("sy2.40.80-sk2.40.59-sy2.40.38_sb2.40.80-sk2.40.59_sy2.40.80-sb2.40.59-sb2.40.38-sk2.40.17"));

const byId = (id) => document.getElementById(id);
const linked = fromLink(location.hash);
const store = new Store(linked?.doc ?? FIRST, changed);
let models = linked?.models ?? []; // one or two names; none: the service's own choice
let answers = []; // one for each model: {doc, verdict, explanation, problem}
let shown = 0; // which answer is drawn on the picture
let selected = null; // id of an item
let look = { color: "Yellow", shape: "square", size: 20 }; // of the next item

const editor = new Editor(byId("boxes"), { edit, select, add, hover: (id) => attend(id === null ? null : { item: id }) });
const words = new Words(byId("words"), { hover: (word) => attend(word === null ? null : { word }), replace: replaceWord });
const panels = new Answers(byId("answers"), { apply: applyFlip, show: (number) => { shown = number; render(); } });
const lookControls = new Look(chooseLook);
const modelLists = new Models((names) => { models = names; shown = 0; forget(); });
const requestJudgement = api.keepingUp(judgeAll, JUDGE_DELAY);
const requestExplanation = api.afterPause(explainAll, EXPLAIN_DELAY);

// ---------------------------------------------------------------- changes

function changed() {
  if (selected !== null && !find(store.doc.scene, selected)) selected = null;
  render();
  requestJudgement();
  requestExplanation();
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

function chooseLook(part) {
  look = { ...look, ...part };
  if (selected === null || !edit((doc) => edits.restyle(doc, selected, part))) render();
}

function replaceWord(word, by) {
  const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const statement = store.doc.statement.replace(new RegExp(`(?<!\\p{L})${escaped}(?!\\p{L})`, "giu"), by);
  store.change({ ...store.doc, statement });
  byId("statement").focus();
}

function applyFlip(number) {
  const { scene } = answers[number].explanation.counterfactual;
  store.change({ ...store.doc, scene: fromWire(scene, store.doc.scene) });
  say("The change is applied.");
}

/** A new scene, and a statement if one comes with it; says what went wrong. */
async function load(request) {
  say("");
  try {
    const { scene, statement } = await request();
    store.change(newDoc(statement ?? store.doc.statement, fromWire(scene)));
  } catch (error) {
    say(error.message);
  }
}

const say = (text) => { byId("message").textContent = text; };

// ---------------------------------------------------------------- the service

function forget() {
  answers = [];
  changed();
}

const current = () => (models.length ? models : [undefined]);
const ask = (doc, model) => ({ statement: doc.statement, scene: toWire(doc.scene), ...(model && { model }) });
/** Notes a part of a model's answer to a document, unless other models are asked by now. */
function note(number, asked, doc, part) {
  if (asked !== models) return;
  const known = answers[number];
  const isSame = known?.doc.scene === doc.scene && known.doc.statement === doc.statement;
  answers[number] = { doc, verdict: null, explanation: null, problem: null, ...(isSame && known), ...part };
}

async function judgeAll() {
  const [doc, asked] = [store.doc, models];
  if (!doc.statement.trim()) return;
  await Promise.all(current().map(async (model, number) => {
    try {
      note(number, asked, doc, { verdict: await api.judge(ask(doc, model)), problem: null });
    } catch (error) {
      note(number, asked, doc, { verdict: null, problem: error.message });
      if (error.retryAfter) setTimeout(requestJudgement, 1000 * error.retryAfter);
    }
  }));
  render();
  if (doc === store.doc) speak();
}

async function explainAll(signal) {
  const [doc, asked] = [store.doc, models];
  if (!doc.statement.trim()) return;
  await Promise.all(current().map(async (model, number) => {
    try {
      const { verdict, ...explanation } = await api.explain(ask(doc, model), signal);
      if (doc === store.doc) note(number, asked, doc, { verdict, explanation, problem: null });
    } catch (error) {
      if (error.name === "AbortError") return;
      if (error.retryAfter && doc === store.doc) setTimeout(() => doc === store.doc && requestExplanation(), 1000 * error.retryAfter);
    }
  }));
  if (doc !== store.doc) return;
  render();
  speak();
}

/** For screen readers; the same text is announced once. */
function speak() {
  const texts = answers.filter(({ verdict }) => verdict).map(({ verdict, explanation }, number) =>
    `${models.length > 1 ? `${models[number]}: ` : ""}${sentence(verdict)} ${explanation?.counterfactual?.text ?? ""}`.trim());
  const text = texts.join(" ");
  if (byId("spoken").textContent !== text) byId("spoken").textContent = text;
}

// ---------------------------------------------------------------- what is seen

/** The shown answer, if its items are still those of the scene: indices into older ones could mean other items. */
function currentAnswer() {
  const answer = answers[shown];
  if (!answer?.verdict || !store.doc.statement.trim()) return null;
  const ids = (doc) => doc.scene.map((box) => box.map(({ id }) => id).join()).join(";");
  return ids(answer.doc) === ids(store.doc) ? answer : null;
}

function render() {
  const { doc } = store;
  const field = byId("statement");
  if (field.value !== doc.statement) field.value = doc.statement;
  const answer = currentAnswer();
  const isExact = answer?.doc.scene === doc.scene && answer.doc.statement === doc.statement;
  editor.render(doc, selected, {
    order: byId("show-order").checked ? answer?.verdict.order : null,
    perBox: answer?.verdict.per_box,
    edits: isExact && byId("show-ghost").checked ? answer.explanation?.counterfactual?.edits : null,
  });
  const isSameStatement = answer?.doc.statement === doc.statement;
  words.render(doc.statement, isSameStatement ? answer.verdict.attention?.words : null, isSameStatement ? answer.verdict.unknown_words : {});
  const isAsked = doc.statement.trim() !== "";
  const isKept = (one) => one && isAsked && (one.doc.scene !== doc.scene || one.doc.statement !== doc.statement);
  panels.render(current().map((model, number) => {
    const one = isAsked ? answers[number] : null;
    return { model, verdict: one?.verdict, problem: one?.problem, explanation: isKept(one) ? null : one?.explanation };
  }), shown);
  lookControls.render(selected === null ? null : find(doc.scene, selected).item, look, doc.kind);
  modelLists.render(models);
  for (const input of byId("kind").querySelectorAll("input")) input.checked = input.value === doc.kind;
  byId("undo").disabled = !store.canUndo;
  byId("redo").disabled = !store.canRedo;
  saveLink();
}

/** Highlights what a word or an item attends to: {word: number}, {item: id} or null. */
function attend(to) {
  const answer = currentAnswer();
  const attention = answer?.verdict.attention;
  const { scene } = store.doc;
  let [items, spoken] = [null, null];
  if (to?.word !== undefined && attention?.words_to_items) {
    const weights = scene.flatMap((box, number) => box.map((item, index) => [item.id, attention.words_to_items[number][to.word]?.[index] ?? 0]));
    const most = Math.max(...weights.map(([, weight]) => weight), 1e-6);
    items = new Map(weights.map(([id, weight]) => [id, weight / most]));
  } else if (to?.item && attention?.items_to_words) {
    const found = find(scene, to.item);
    const weights = found ? attention.items_to_words[found.box][found.index] : [];
    spoken = weights.map((weight) => weight / Math.max(...weights, 1e-6));
  }
  editor.highlight(items);
  words.highlight(spoken);
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
byId("kind").addEventListener("change", ({ target }) => edit((doc) => edits.changeKind(doc, target.value)));
byId("undo").addEventListener("click", () => store.undo());
byId("redo").addEventListener("click", () => store.redo());
byId("delete").addEventListener("click", () => edit((doc) => edits.remove(doc, selected)));
byId("random-scatter").addEventListener("click", () => load(() => api.getRandom("scatter")));
byId("random-tower").addEventListener("click", () => load(() => api.getRandom("tower")));
byId("example").addEventListener("click", () => load(api.getExample));
takePictures((file) => load(async () => ({ scene: await api.decodePicture(file) })));
for (const id of ["show-order", "show-ghost"]) byId(id).addEventListener("change", render);
byId("copy-link").addEventListener("click", async () => {
  const link = new URL(toLink(store.doc, models), location.href).href;
  history.replaceState(null, "", link);
  const isCopied = await navigator.clipboard?.writeText(link).then(() => true, () => false);
  say(isCopied ? "The link is copied." : "The link is in the address bar.");
});
addEventListener("keydown", (event) => {
  const key = event.key.toLowerCase();
  if (!(event.ctrlKey || event.metaKey) || event.altKey || !["z", "y"].includes(key)) return;
  event.preventDefault();
  if (key === "y" || event.shiftKey) store.redo();
  else store.undo();
});
addEventListener("hashchange", () => {
  const found = fromLink(location.hash);
  if (!found) return say("This link holds no valid scene.");
  models = found.models;
  store.change(found.doc);
});

if (location.hash.length > 1 && !linked) say("This link holds no valid scene.");
changed();
api.getModels().then((list) => {
  modelLists.fill(list);
  const isKnown = (name) => list.some((model) => model.name === name);
  if (models.every(isKnown)) return render();
  models = models.filter(isKnown);
  say("The link names a model that this service does not have.");
  return forget();
}, (error) => say(error.message));
