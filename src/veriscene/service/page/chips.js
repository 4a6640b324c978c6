// Sentences with scenes to begin with, by the name of their world. Some of them fool the model `best`.

const SCATTER =
  "2.0.2.5.10-1.1.0.50.15-0.2.1.60.60_1.1.1.10.10-2.2.0.50.40-0.0.2.15.70_1.0.0.0.40-0.1.1.50.50-1.2.2.60.10";
const TOWERS = "1.0.1.40.80-1.0.0.40.59_1.0.2.40.80-1.0.0.40.59-1.0.1.40.38_1.0.1.40.80";
const MODEL = "best";

const CHIPS = {
  nlvr: [
    ["There is a yellow square touching the wall.", SCATTER],
    ["Every box has at least one black item.", SCATTER],
    ["There are more triangles than circles.", SCATTER],
    ["Exactly one tower has a yellow block at the top.", TOWERS],
    ["Every shape appears as often as every other.", SCATTER, true],
    ["If you removed the top block of the left tower, two towers would be equally tall.", TOWERS, true],
  ],
};

/** The first example of a world, {statement, code}; null if it has none. */
export function firstChip(world) {
  const [first] = CHIPS[world.name] ?? [];
  return first ? { statement: first[0], code: first[1] } : null;
}

/** Shows the examples of a world as buttons. Calls back: `choose(statement, code of the scene)`. */
export function showChips(place, world, model, choose) {
  const chips = CHIPS[world.name] ?? [];
  place.hidden = !chips.length;
  place.replaceChildren(
    ...chips.map(([statement, code, fooled]) => {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: statement });
      if (fooled && model === MODEL) {
        const note = Object.assign(document.createElement("span"), { className: "fools", textContent: "fools it" });
        button.append(" ", note);
      }
      button.addEventListener("click", () => choose(statement, code));
      return button;
    }),
  );
}
