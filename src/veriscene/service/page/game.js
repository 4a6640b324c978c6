// You against the model: both answer, then the truth is shown, and a score is kept.

import { AnswerError } from "./answers.js";

const byId = (id) => document.getElementById(id);
const say = (truth) => (truth ? "True" : "False");
const mark = (isRight) => (isRight ? "right" : "wrong");

/** Calls back: `ask()` resolves to {statement, scene, label} or rejects with an AnswerError; `show(question, prepare)`
 *  makes it the document, after `prepare(document)`; `render()`; `say(text)`. */
export class Game {
  #round = null; // {doc, truth, guess, verdict}: a question, and what was answered, or null
  #score = { you: 0, model: 0, rounds: 0 };
  #model = null;
  #asked = 0; // how often a question was asked for, or the game ended

  constructor(calls) {
    this.calls = calls;
    byId("play").addEventListener("click", () => this.#next());
    byId("next").addEventListener("click", () => this.#next());
    byId("stop").addEventListener("click", () => this.#stop());
    byId("guess-true").addEventListener("click", () => this.#guess(true));
    byId("guess-false").addEventListener("click", () => this.#guess(false));
  }

  /** Whether the model's answer must not be seen yet. */
  isHiding(doc) {
    return this.#isOn(doc) && !this.#isRevealed;
  }

  /** `model`: its name. `answer`: the one on `doc`, {verdict, problem}, or null as long as it is unknown. An edited
   *  question ends the game, as nobody knows whether it is true; so does another model. */
  render(doc, model, answer) {
    const { verdict = null, problem = null } = answer ?? {};
    if (model !== this.#model) {
      this.#model = model;
      this.#end();
    }
    if (this.#round && !this.#isOn(doc)) this.#round = null;
    const isOn = this.#round !== null;
    if (isOn && this.#round.guess !== null && verdict && !this.#isRevealed) this.#reveal(verdict);
    byId("game").hidden = !isOn;
    byId("play").hidden = isOn;
    if (!isOn) return;
    const isGuessing = this.#round.guess === null;
    for (const id of ["guess-true", "guess-false"]) byId(id).hidden = !isGuessing;
    byId("next").hidden = isGuessing;
    byId("next").disabled = !this.#isRevealed && !problem;
    const waiting = problem ?? "The model is thinking…";
    const text = isGuessing ? "Is it true? Guess first." : this.#isRevealed ? this.#result(model) : waiting;
    const { you, model: its, rounds } = this.#score;
    const score = rounds ? `You ${you}, ${model} ${its} of ${rounds}` : "";
    for (const [id, words] of [["asked", text], ["score", score]]) // prettier-ignore
      if (byId(id).textContent !== words) byId(id).textContent = words;
  }

  get #isRevealed() {
    return Boolean(this.#round?.verdict);
  }

  #isOn(doc) {
    return this.#round !== null && this.#round.doc === doc;
  }

  #reveal(verdict) {
    const { truth, guess } = this.#round;
    this.#round.verdict = verdict;
    this.#score.rounds += 1;
    this.#score.you += Number(guess === truth);
    this.#score.model += Number(verdict.verdict === truth);
    setTimeout(() => byId("next").focus());
  }

  #result(model) {
    const { truth, guess, verdict } = this.#round;
    return `It is ${say(truth).toLowerCase()}. You: ${mark(guess === truth)}. ${model}: ${mark(verdict.verdict === truth)}.`;
  }

  #guess(guess) {
    this.#round.guess = guess;
    this.calls.render();
  }

  #end() {
    this.#asked += 1;
    this.#round = null;
    this.#score = { you: 0, model: 0, rounds: 0 };
  }

  #stop() {
    this.#end();
    this.calls.render();
    byId("play").focus();
  }

  async #next() {
    try {
      const asked = ++this.#asked;
      const question = await this.calls.ask();
      if (asked !== this.#asked) return; // the game was ended, or another question asked
      if (question.label === null) throw new AnswerError("There are no questions with known answers here.");
      this.calls.show(question, (doc) => {
        this.#round = { doc, truth: question.label, guess: null, verdict: null };
      });
      byId("guess-true").focus();
    } catch (error) {
      if (!(error instanceof AnswerError)) throw error;
      this.calls.say(error.message);
    }
  }
}
