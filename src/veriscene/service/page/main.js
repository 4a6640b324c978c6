// Connects the document, the service and what is seen.

import * as api from "./api.js";
import * as attention from "./attention.js";
import * as edits from "./edits.js";
import { Answers, spoken } from "./answers.js";
import { Look, Models, takePictures } from "./controls.js";
import { Editor } from "./editor.js";
import { Inquiry } from "./inquiry.js";
import { decode, find, fromWire } from "./scene.js";
import { Store, fromLink, newDoc, toLink } from "./store.js";
import { Words } from "./words.js";

const FIRST = newDoc(
  "There is a tower with exactly two yellow blocks.",
  decode("sy2.40.80-sk2.40.59-sy2.40.38_sb2.40.80-sk2.40.59_sy2.40.80-sb2.40.59-sb2.40.38-sk2.40.17"),
);

const byId = (id) => document.getElementById(id);
const linked = fromLink(location.hash);
const store = new Store(linked?.doc ?? FIRST, changed);
let models = linked?.models ?? []; // one or two names; none: the service's own choice
let shown = 0; // which answer is drawn on the picture
let selected = null; // id of an item
let attended = null; // {word: number} or {item: id}: what is pointed at
let look = { color: "Yellow", shape: "square", size: 20 }; // of the next item

const editor = new Editor(byId("boxes"), {
  edit,
  select,
  add,
  hover: (id) => attend(id === null ? null : { item: id }),
});
const words = new Words(byId("words"), {
  hover: (word) => attend(word === null ? null : { word }),
  replace: replaceWord,
});
const panels = new Answers(byId("answers"), {
  apply: applyFlip,
  show: (number) => {
    shown = number;
    render();
  },
});
const lookControls = new Look(chooseLook);
const modelLists = new Models(chooseModels);
const inquiry = new Inquiry(() => ({ doc: store.doc, models }), answered);

// ---------------------------------------------------------------- changes

function changed() {
  if (selected !== null && !find(store.doc.scene, selected)) selected = null;
  render();
  inquiry.request();
}

function answered() {
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

function chooseLook(part) {
  look = { ...look, ...part };
  if (selected === null || !edit((doc) => edits.restyle(doc, selected, part))) render();
}

function chooseModels(names) {
  models = names;
  shown = 0;
  inquiry.restart();
  render();
}

function replaceWord(word, by) {
  const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const statement = store.doc.statement.replace(new RegExp(`(?<!\\p{L})${escaped}(?!\\p{L})`, "giu"), by);
  store.change({ ...store.doc, statement });
  byId("statement").focus();
}

function applyFlip(number) {
  const { scene } = inquiry.answers[number].explanation.counterfactual;
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

const say = (text) => {
  byId("message").textContent = text;
};

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
  const answer = shownAnswer();
  byId("show-order").disabled = answer !== null && answer.verdict.order === null;
  editor.render(doc, selected, {
    order: byId("show-order").checked ? answer?.verdict.order : null,
    perBox: answer?.verdict.per_box,
    edits: answer?.doc === doc && byId("show-ghost").checked ? answer.explanation?.counterfactual?.edits : null,
  });
  const read = answer?.doc.statement === doc.statement ? answer.verdict : null;
  words.render(doc.statement, read?.attention?.words, read?.unknown_words ?? {});
  panels.render(
    (models.length ? models : [null]).map((model, number) => {
      const one = doc.statement.trim() ? inquiry.answers[number] : null;
      return {
        model,
        verdict: one?.verdict,
        problem: one?.problem,
        explanation: one?.doc === doc ? one.explanation : null,
      };
    }),
    shown,
  );
  lookControls.render(selected === null ? null : find(doc.scene, selected).item, look, doc.kind);
  modelLists.render(models);
  for (const input of byId("kind").querySelectorAll("input")) input.checked = input.value === doc.kind;
  byId("undo").disabled = !store.canUndo;
  byId("redo").disabled = !store.canRedo;
  attend(attended);
  saveLink();
}

/** For screen readers: the verdicts, once each. */
function speak() {
  const name = (number) => (models.length > 1 ? `${models[number]}: ` : "");
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
  const maps = shownAnswer()?.verdict.attention;
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
byId("kind").addEventListener("change", ({ target }) => edit((doc) => edits.changeKind(doc, target.value)));
byId("undo").addEventListener("click", () => store.undo());
byId("redo").addEventListener("click", () => store.redo());
byId("delete").addEventListener("click", () => edit((doc) => edits.remove(doc, selected)));
byId("random-scatter").addEventListener("click", () => load(() => api.getRandom("scatter")));
byId("random-tower").addEventListener("click", () => load(() => api.getRandom("tower")));
byId("example").addEventListener("click", () => load(api.getExample));
takePictures((file) => load(async () => ({ scene: await api.decodePicture(file) })));
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
  chooseModels(found.models);
  store.change(found.doc);
});

if (location.hash.length > 1 && !linked) say("This link holds no valid scene.");
changed();
api.getModels().then(
  (list) => {
    modelLists.fill(list);
    const isKnown = (name) => list.some((model) => model.name === name);
    if (models.every(isKnown)) return render();
    say("The link names a model that this service does not have.");
    return chooseModels(models.filter(isKnown));
  },
  (error) => say(error.message),
);
