// Asks about the current document and keeps what each model answered.

import { AnswerError } from "./answers.js";
import { toWire } from "./scene.js";
import { answers } from "./source.js";
import { afterPause, keepingUp } from "./timing.js";

const JUDGE_DELAY = 25; // milliseconds; a verdict should be seen within 100
const EXPLAIN_DELAY = 400;
const NOTHING = { verdict: null, explanation: null, problem: null };

/** `state()` returns {doc, models}: one or two names, or none for the service's default. `onAnswer` is called when
 *  `answers` has changed; each answer is {doc, verdict, explanation, problem}, with null where unknown. */
export class Inquiry {
  answers = [];
  #judge = keepingUp(() => this.#judgeAll(), JUDGE_DELAY);
  #explain = afterPause((signal) => this.#explainAll(signal), EXPLAIN_DELAY);

  constructor(state, onAnswer) {
    this.state = state;
    this.onAnswer = onAnswer;
  }

  /** The document has changed. Older answers stay until new ones come. */
  request() {
    this.#judge();
    this.#explain();
  }

  /** The models have changed: what others answered is of no use. */
  forget() {
    this.answers = [];
  }

  async #judgeAll() {
    const judge = async (question) => ({ verdict: await answers.judge(question), problem: null });
    const fail = ({ message, retryAfter }) => {
      if (retryAfter) setTimeout(this.#judge, 1000 * retryAfter);
      return { problem: message };
    };
    await this.#askAll(judge, fail);
  }

  async #explainAll(signal) {
    const explain = async (question) => {
      const { verdict, ...explanation } = await answers.explain(question, signal);
      return { verdict, explanation, problem: null };
    };
    // A search is long: the person decides whether it is worth trying again.
    await this.#askAll(explain, ({ message }) => ({ explanation: { problem: message } }));
  }

  /** Searches again for the smallest change. */
  explain() {
    this.#explain();
  }

  /** Notes `ask(question)`, or `fail(error)`, for each model, unless other models are chosen or a newer answer is there
   *  by then. */
  async #askAll(ask, fail) {
    const { doc, models } = this.state();
    if (!doc.statement.trim()) return;
    const note = (number, part) => {
      const now = this.state();
      const known = this.answers[number];
      if (now.models !== models || (known?.doc === now.doc && doc !== now.doc)) return;
      const kept = known?.doc === doc ? known : NOTHING;
      // The verdict of an explanation may be on what eyes saw of the scene; that of the question refers to its items.
      this.answers[number] = { ...kept, doc, ...part, verdict: kept.verdict ?? part.verdict ?? null };
    };
    await Promise.all(
      (models.length ? models : [undefined]).map(async (model, number) => {
        try {
          note(number, await ask({ statement: doc.statement, scene: toWire(doc.world, doc.scene), model }));
        } catch (error) {
          if (!(error instanceof AnswerError)) {
            if (error.name === "AbortError") return;
            throw error;
          }
          note(number, fail(error));
        }
      }),
    );
    this.onAnswer();
  }
}
