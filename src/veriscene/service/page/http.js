// Answers of the service that the page comes from.

import { AnswerError } from "./answers.js";

export class HttpAnswers {
  isLocal = false;

  async models() {
    return (await send("api/models")).models;
  }

  world(model) {
    return get("api/world", { model });
  }

  example(model) {
    return get("api/scenes/example", { model });
  }

  random(model, kind) {
    return get("api/scenes/random", kind ? { model, kind } : { model });
  }

  judge(question, signal) {
    return send("api/judge", { ...question, attention: true }, signal);
  }

  explain(question, signal) {
    return send("api/explain", question, signal);
  }

  async decode(model, picture) {
    const bytes = new Uint8Array(await picture.arrayBuffer());
    let binary = "";
    for (let start = 0; start < bytes.length; start += 8192)
      binary += String.fromCharCode(...bytes.subarray(start, start + 8192));
    return (await send("api/decode", { model, image: btoa(binary) })).scene;
  }
}

const get = (path, query) => send(`${path}?${new URLSearchParams(query)}`);

async function send(path, body, signal) {
  const init = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  let response;
  try {
    response = await fetch(path, { ...init, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new AnswerError("The service does not answer.", 2);
  }
  if (response.ok) return response.json();
  const { detail } = await response.json().catch(() => ({}));
  const problem = Array.isArray(detail)
    ? detail.map(({ field, message }) => [field, message].filter(Boolean).join(": ")).join("; ")
    : detail;
  const retryAfter = response.status === 503 ? Number(response.headers.get("Retry-After")) || 1 : null;
  throw new AnswerError(problem || `The service answered ${response.status}.`, retryAfter);
}
