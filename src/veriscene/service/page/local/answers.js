// Answers of models that run in this browser: the same interface as that of the service (../answers.js).

import { AnswerError } from "../answers.js";

const RETRY_SECONDS = 5;
const pick = (list) => list[Math.floor(Math.random() * list.length)];

export class LocalAnswers {
  #worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
  #waiting = new Map(); // id -> {resolve, reject}
  #last = 0;
  #about = null;
  isLocal = true;
  onProgress = () => {};

  constructor() {
    this.#worker.addEventListener("message", ({ data }) => {
      if (data.id === undefined) {
        this.onProgress(data);
        return;
      }
      const { resolve, reject } = this.#waiting.get(data.id) ?? {};
      this.#waiting.delete(data.id);
      if (data.problem === undefined) resolve?.(data.answer);
      else reject?.(new AnswerError(data.problem));
    });
    this.#worker.addEventListener("error", (event) => {
      for (const { reject } of this.#waiting.values())
        reject(new AnswerError(event.message ?? "The model cannot be loaded.", RETRY_SECONDS));
      this.#waiting.clear();
    });
  }

  async models() {
    return (await this.#known()).models;
  }

  async world() {
    return (await this.#known()).world;
  }

  async example() {
    return pick((await this.#known()).examples.example);
  }

  async random(model, kind) {
    return pick((await this.#known()).examples[kind]);
  }

  judge({ statement, scene }, signal) {
    return this.#ask({ ask: "judge", statement, scene }, signal);
  }

  explain({ statement, scene }, signal) {
    return this.#ask({ ask: "explain", statement, scene }, signal);
  }

  decode(model, picture) {
    return this.#ask({ ask: "decode", picture });
  }

  #known() {
    this.#about ??= this.#ask({ ask: "about" });
    return this.#about;
  }

  #ask(request, signal) {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      signal?.addEventListener("abort", () => {
        this.#waiting.delete(id);
        this.#worker.postMessage({ cancel: id });
        reject(new DOMException("The search was replaced by another.", "AbortError"));
      });
      this.#worker.postMessage({ id, ...request });
    });
  }
}
