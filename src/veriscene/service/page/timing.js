// How often answers are asked for.

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
