// What each model says: verdict, probability, and the smallest change that flips the verdict.

import { capitalize } from "./world.js";

const HINT = "Say something that is true or false of it.";
const percent = (share) => `${Math.round(100 * share)} %`;

/** A verdict, and how to change it if that is known, as a screen reader says it. */
export function spoken({ verdict, probability }, explanation) {
  if (verdict === null) return `Not about this scene. ${HINT}`;
  const outcome = `${verdict ? "True" : "False"}, ${sure(verdict, probability)}.`;
  const change = explanation?.counterfactual?.text;
  return change ? `${outcome} To make it ${verdict ? "false" : "true"}: ${change}.` : outcome;
}

const sure = (verdict, probability) => `${percent(verdict ? probability : 1 - probability)} sure`;

/** Calls back: `apply(number of the answer)`, `show(number)`: draw this answer on the picture, `retry()`: search again. */
export class Panels {
  #panels = [];

  constructor(place, calls) {
    this.place = place;
    this.calls = calls;
  }

  /** `answers`: one for each model: {model, verdict, explanation, problem, isBlank}; null where unknown
   *  yet. `isBlank`: there is no statement. */
  render(answers, shown) {
    while (this.#panels.length < answers.length) this.#panels.push(this.#panel(this.#panels.length));
    if (this.place.childElementCount !== answers.length) {
      this.place.replaceChildren(...this.#panels.slice(0, answers.length).map((panel) => panel.root));
    }
    const isComparing = answers.length > 1;
    answers.forEach((answer, number) => this.#update(this.#panels[number], answer, isComparing, number === shown));
  }

  #panel(number) {
    const make = (tag, className, ...children) => {
      const element = Object.assign(document.createElement(tag), { className });
      element.append(...children);
      return element;
    };
    const [model, word, sure, reading, flip] = [
      make("h2", "model"),
      make("strong", "verdict"),
      make("span", "sure"),
      make("p", "quiet reading"),
      make("p", "flip"),
    ];
    const aim = make("p", "quiet");
    const mark = make("span", "mark");
    const scale = make(
      "div",
      "scale",
      make("span", "", "false"),
      make("span", "track", mark),
      make("span", "", "true"),
    );
    scale.ariaHidden = "true";
    const apply = Object.assign(make("button", "primary", "Apply"), { type: "button" });
    const show = Object.assign(make("button", "", "Show on picture"), { type: "button" });
    const retry = Object.assign(make("button", "", "Try again"), { type: "button" });
    apply.addEventListener("click", () => this.calls.apply(number));
    retry.addEventListener("click", () => this.calls.retry());
    show.addEventListener("click", () => this.calls.show(number));
    const root = make(
      "article",
      "answer",
      model,
      make("p", "outcome", word, sure),
      reading,
      scale,
      make("div", "change", make("div", "", aim, flip), make("div", "buttons", retry, apply, show)),
    );
    root.ariaLabel = "Verdict";
    return { root, model, word, sure, reading, mark, aim, flip, apply, retry, show };
  }

  #update(panel, { model, verdict, explanation, problem, isBlank }, isComparing, isShown) {
    panel.model.textContent = model ?? "";
    panel.model.hidden = panel.show.hidden = !isComparing;
    panel.show.ariaPressed = String(isShown);
    panel.root.classList.toggle("waiting", !verdict);
    panel.root.classList.toggle("shown", isComparing && isShown);
    const isJudged = verdict && verdict.verdict !== null;
    panel.word.textContent = verdict ? (isJudged ? (verdict.verdict ? "True" : "False") : "Not about this scene") : "…";
    const hint = isBlank ? "Type a statement" : verdict ? HINT : "";
    panel.sure.textContent = problem ?? (isJudged ? sure(verdict.verdict, verdict.probability) : hint);
    panel.root.classList.toggle("is-true", Boolean(isJudged && verdict.verdict));
    panel.root.classList.toggle("is-false", Boolean(isJudged && !verdict.verdict));
    panel.reading.textContent = read(verdict);
    panel.mark.style.setProperty("--at", verdict?.probability ?? 0.5);
    panel.retry.hidden = !explanation?.problem;
    panel.apply.classList.toggle("absent", !explanation?.counterfactual); // keeps its place: the boxes below stay put
    panel.aim.textContent = isJudged ? `Smallest change that makes it ${verdict.verdict ? "false" : "true"}` : "";
    panel.flip.textContent = isJudged ? change(explanation) : "";
  }
}

function read(verdict) {
  if (!verdict?.reading) return "";
  return `Read as: ${verdict.reading}${verdict.disputed ? " (which would be the opposite)" : ""}`;
}

function change(explanation) {
  if (!explanation) return "Searching…";
  const { counterfactual, searched, problem } = explanation;
  if (problem) return problem;
  if (counterfactual) return `${capitalize(counterfactual.text)}.`;
  return searched.complete
    ? "No change of up to two edits changes the verdict."
    : `No edit found that changes the verdict; ${searched.judgements.toLocaleString("en")} were tried.`;
}
