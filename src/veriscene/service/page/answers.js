// Where answers come from: a service (http.js), or models that run in the browser (local/answers.js).
//
// Both have these methods, each of which returns a promise or rejects with an AnswerError:
//
//   models()               [{name, model, dev_accuracy, world, default}]
//   world(model)           the tables of the model's world, as in a world file, and its abilities
//   example(model)         {statement, scene, label}
//   random(model, kind)    the same; `kind`: tower or scatter in worlds with towers, null elsewhere
//   judge(question)        a verdict with attention; a question is {statement, scene, model}
//   explain(question, signal)  {verdict, counterfactual, searched}
//   decode(model, picture) the scene on a picture, given as a Blob
//
// `isLocal` tells whether the models run in the browser; they then call `onProgress({loaded, total})`, in bytes, while
// they are loading.

/** Why there is no answer, in words for the user. `retryAfter`: seconds after which asking again may help, or null. */
export class AnswerError extends Error {
  constructor(message, retryAfter = null) {
    super(message);
    this.retryAfter = retryAfter;
  }
}
