// The words of the statement: attention between them and items, and words that the model does not know.

const WORD = /\p{L}+|\d+|\S/gu; // a word, a number or a punctuation mark

/** Calls back: `hover(number of a word or null)`, `replace(word, by)`. */
export class Words {
  #buttons = [];

  constructor(place, calls) {
    this.place = place;
    this.calls = calls;
  }

  /** `words`: as the model read them, or null: as split here. */
  render(statement, words, unknown) {
    const shown = words ?? statement.match(WORD) ?? [];
    const key = JSON.stringify([shown, unknown]);
    if (key === this.key) return; // keeps the focus
    this.key = key;
    this.#buttons = shown.map((word, number) => this.#button(word, number, word in unknown));
    const offers = Object.entries(unknown).map(([word, nearest]) => this.#offer(word, nearest));
    const hint = Object.assign(document.createElement("span"), {
      className: "hint quiet",
      textContent: "Point at a word or an item to see attention",
    });
    this.place.replaceChildren(...this.#buttons, ...offers, ...(words && !offers.length ? [hint] : []));
  }

  /** Shows how much attention each word gets; `weights` in 0..1, or null for none. */
  highlight(weights) {
    this.#buttons.forEach((button, number) => button.style.setProperty("--weight", weights?.[number] ?? 0));
  }

  #button(word, number, isUnknown) {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", className: isUnknown ? "word unknown" : "word", textContent: word });
    if (isUnknown) button.ariaLabel = `${word} (unknown word)`;
    for (const start of ["pointerenter", "focus", "click"])
      button.addEventListener(start, () => this.calls.hover(number));
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
