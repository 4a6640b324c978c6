// The words of the statement: attention between them and items, and words that the model does not know.

const TOKEN = /\p{L}+|\d+|\S/gu; // what the model reads: letters, digits or a sign
const WORD = /\p{L}+(?:['’]\p{L}+)*|\d+|\S/gu; // what people call words, and signs
const isWord = (text) => /[\p{L}\d]/u.test(text);

const asKnown = (word) => word.toLowerCase().replaceAll("’", "'");

/** The words of a statement without its signs: {word, places} with the places of what the model reads. */
function wordsOf(statement, tokens) {
  let at = 0;
  const found = (statement.match(WORD) ?? []).map((word) => {
    const places = (word.match(TOKEN) ?? []).map(() => at++);
    return { word, places };
  });
  // Few letters, such as the capital İ, are read as several tokens: then words are shown as they were read.
  const isSplitAlike = tokens === null || tokens.length === at;
  const shown = isSplitAlike ? found : tokens.map((word, place) => ({ word, places: [place] }));
  return shown.filter(({ word }) => isWord(word));
}

/** Calls back: `hover(places of a word's tokens, or null)`, `replace(word, by)`. */
export class Words {
  #buttons = [];
  #words = []; // {word, places}

  constructor(place, calls) {
    this.place = place;
    this.calls = calls;
  }

  /** `tokens`: as the model read them, or null if that is unknown. */
  render(statement, tokens, unknown) {
    const key = JSON.stringify([statement, tokens, unknown]);
    if (key === this.key) return; // keeps the focus
    this.key = key;
    this.#words = wordsOf(statement, tokens);
    this.#buttons = this.#words.map(({ word, places }) => this.#button(word, places, asKnown(word) in unknown));
    const offers = Object.entries(unknown).map(([word, nearest]) => this.#offer(word, nearest));
    const hint = Object.assign(document.createElement("span"), {
      className: "hint quiet",
      textContent: "Point at a word or an item to see attention",
    });
    this.place.replaceChildren(...this.#buttons, ...offers, ...(tokens && !offers.length ? [hint] : []));
  }

  /** Shows how much attention each word gets; `weights` of tokens in 0..1, or null for none. */
  highlight(weights) {
    this.#words.forEach(({ places }, number) => {
      const weight = Math.max(0, ...places.map((place) => weights?.[place] ?? 0));
      this.#buttons[number].style.setProperty("--weight", weight);
    });
  }

  #button(word, places, isUnknown) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: isUnknown ? "word unknown" : "word", textContent: word });
    if (isUnknown) button.ariaLabel = `${word} (unknown word)`;
    for (const start of ["pointerenter", "focus", "click"])
      button.addEventListener(start, () => this.calls.hover(places));
    for (const end of ["pointerleave", "blur"]) button.addEventListener(end, () => this.calls.hover(null));
    return button;
  }

  #offer(word, nearest) {
    const offer = document.createElement("span");
    offer.className = "offer";
    offer.append(`“${word}” is unknown. `);
    if (nearest.length) offer.append("Use ");
    for (const by of nearest.slice(0, 3)) {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: by });
      button.ariaLabel = `Use ${by} in place of ${word}`;
      button.addEventListener("click", () => this.calls.replace(word, by));
      offer.append(button);
    }
    return offer;
  }
}
