// The service, and how often it is asked.

/** What the service answered instead of a result, in words for the user. */
export class ServiceError extends Error {
  constructor(message, retryAfter = null) {
    super(message);
    this.retryAfter = retryAfter; // seconds
  }
}

export const getModels = async () => (await send("api/models")).models;
export const getWorld = (model) => get("api/world", { model });
export const getExample = (model) => get("api/scenes/example", { model });
/** `kind`: tower or scatter in worlds with towers; null elsewhere. */
export const getRandom = (model, kind) => get("api/scenes/random", kind ? { model, kind } : { model });
export const judge = (question, signal) => send("api/judge", { ...question, attention: true }, signal);
export const explain = (question, signal) => send("api/explain", question, signal);

/** The scene on a picture, given as a Blob. */
export async function decodePicture(model, picture) {
  const bytes = new Uint8Array(await picture.arrayBuffer());
  let binary = "";
  for (let start = 0; start < bytes.length; start += 8192)
    binary += String.fromCharCode(...bytes.subarray(start, start + 8192));
  return (await send("api/decode", { model, image: btoa(binary) })).scene;
}

const get = (path, query) => send(`${path}?${new URLSearchParams(query)}`);

async function send(path, body, signal) {
  const init = body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  let response;
  try {
    response = await fetch(path, { ...init, signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServiceError("The service does not answer.", 2);
  }
  if (response.ok) return response.json();
  const { detail } = await response.json().catch(() => ({}));
  const problem = Array.isArray(detail)
    ? detail.map(({ field, message }) => [field, message].filter(Boolean).join(": ")).join("; ")
    : detail;
  const retryAfter = response.status === 503 ? Number(response.headers.get("Retry-After")) || 1 : null;
  throw new ServiceError(problem || `The service answered ${response.status}.`, retryAfter);
}

/** Calls `task` soon after a request and again as long as requests come in, one call at a time: while something is
 *  dragged, answers keep coming, and the last call sees the last state. */
export function keepingUp(task, delay) {
  let timer = null;
  let isRunning = false;
  let isStale = false;
  async function run() {
    timer = null;
    isRunning = true;
    isStale = false;
    await task();
    isRunning = false;
    if (isStale) request();
  }
  function request() {
    if (isRunning) isStale = true;
    else timer ??= setTimeout(run, delay);
  }
  return request;
}

/** Calls `task(signal)` after a pause in requests; a new request aborts the call under way. */
export function afterPause(task, delay) {
  let timer = null;
  let controller = new AbortController();
  return () => {
    clearTimeout(timer);
    controller.abort();
    controller = new AbortController();
    const { signal } = controller;
    timer = setTimeout(() => task(signal), delay);
  };
}
