// Asks the service about the current document and keeps what each model answered.

import * as api from "./api.js";
import { toWire } from "./scene.js";

const JUDGE_DELAY = 25; // milliseconds; a verdict should be seen within 100
const EXPLAIN_DELAY = 400;
const NOTHING = { verdict: null, explanation: null, problem: null };

/** `state()` returns {doc, models}: one or two names, or none for the service's default. `onAnswer` is called when
 *  `answers` has changed; each answer is {doc, verdict, explanation, problem}, with null where unknown. */
export class Inquiry {
  answers = [];
  #judge = api.keepingUp(() => this.#judgeAll(), JUDGE_DELAY);
  #explain = api.afterPause((signal) => this.#explainAll(signal), EXPLAIN_DELAY);

  constructor(state, onAnswer) {
    this.state = state;
    this.onAnswer = onAnswer;
  }

  /** The document has changed. Older answers stay until new ones come. */
  request() {
    this.#judge();
    this.#explain();
  }

  /** The models have changed. */
  restart() {
    this.answers = [];
    this.request();
  }

  async #judgeAll() {
    await this.#askAll(async (question) => ({ verdict: await api.judge(question), problem: null }), this.#judge);
  }

  async #explainAll(signal) {
    const explain = async (question) => {
      const { verdict, ...explanation } = await api.explain(question, signal);
      return { verdict, explanation, problem: null };
    };
    await this.#askAll(explain, this.#explain);
  }

  /** Notes `ask(question)` for each model, unless other models are chosen or a newer answer is there by then. */
  async #askAll(ask, retry) {
    const { doc, models } = this.state();
    if (!doc.statement.trim()) return;
    const note = (number, part) => {
      const now = this.state();
      const known = this.answers[number];
      if (now.models !== models || (known?.doc === now.doc && doc !== now.doc)) return;
      this.answers[number] = { ...NOTHING, ...(known?.doc === doc && known), doc, ...part };
    };
    await Promise.all(
      (models.length ? models : [undefined]).map(async (model, number) => {
        try {
          note(number, await ask({ statement: doc.statement, scene: toWire(doc.scene), model }));
        } catch (error) {
          if (!(error instanceof api.ServiceError)) {
            if (error.name === "AbortError") return;
            throw error;
          }
          note(number, { problem: error.message });
          if (error.retryAfter) setTimeout(retry, 1000 * error.retryAfter);
        }
      }),
    );
    this.onAnswer();
  }
}
