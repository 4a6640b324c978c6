// The look of the selected or the next item, the choice of models, and pictures from files.

import { COLORS, COLOR_NAMES, SHAPES, SIZES, SIZE_NAMES, capitalize, describe } from "./scene.js";
import { outline, svg } from "./drawing.js";

const byId = (id) => document.getElementById(id);

/** Radio buttons for colour, shape and size. Calls back: `choose({color | shape | size})`. */
export class Look {
  constructor(choose) {
    const example = { color: "Black", shape: "square", size: 20 };
    this.#fill(
      "color",
      COLORS,
      (value) => COLOR_NAMES[value],
      (value) => ({ ...example, color: value, shape: "circle" }),
      choose,
    );
    this.#fill(
      "shape",
      SHAPES,
      (value) => value,
      (value) => ({ ...example, shape: value }),
      choose,
    );
    this.#fill(
      "size",
      SIZES,
      (value) => SIZE_NAMES[value],
      (value) => ({ ...example, size: value }),
      choose,
    );
  }

  /** `item`: the selected one, or null: `look` is that of the next. */
  render(item, look, kind) {
    byId("look-of").textContent = item ? capitalize(describe(item)) : "Next item";
    byId("delete").disabled = !item;
    byId("shape").disabled = byId("size").disabled = kind === "tower";
    for (const name of ["color", "shape", "size"]) {
      for (const input of byId(name).querySelectorAll("input"))
        input.checked = input.value === String((item ?? look)[name]);
    }
  }

  #fill(name, values, title, example, choose) {
    byId(name).append(
      ...values.map((value) => {
        const input = Object.assign(document.createElement("input"), { type: "radio", name, value });
        input.addEventListener("change", () => choose({ [name]: value }));
        const item = example(value);
        const label = document.createElement("label");
        const place = `translate(${(30 - item.size) / 2} ${(30 - item.size) / 2})`;
        const icon = svg(
          "svg",
          { viewBox: "0 0 30 30", "aria-hidden": "true" },
          svg("path", {
            d: outline(item),
            transform: place,
            class: name === "color" ? "body" : "icon",
            "data-color": item.color,
          }),
        );
        const text = Object.assign(document.createElement("span"), { className: "hidden", textContent: title(value) });
        const face = document.createElement("span");
        face.append(icon, text);
        label.append(input, face);
        label.title = title(value);
        return label;
      }),
    );
  }
}

/** The two lists of models. Calls back: `choose(names)` with one or two names. */
export class Models {
  constructor(choose) {
    this.lists = [byId("model"), byId("other-model")];
    for (const list of this.lists)
      list.addEventListener("change", () => choose(this.lists.map(({ value }) => value).filter(Boolean)));
  }

  fill(models) {
    const title = ({ name, dev_accuracy: accuracy }) =>
      accuracy == null ? name : `${name} (${(100 * accuracy).toFixed(1)} %)`;
    const options = () => models.map((model) => new Option(title(model), model.name));
    this.standard = models.find((model) => model.default)?.name ?? "";
    this.lists[0].replaceChildren(...options());
    this.lists[1].replaceChildren(new Option("none", ""), ...options());
  }

  /** No name stands for the service's default. */
  render([one, other]) {
    this.lists[0].value = one ?? this.standard;
    this.lists[1].value = other ?? "";
  }
}

/** Pictures chosen or dropped anywhere on the page. Calls back: `open(file)`. */
export function takePictures(open) {
  const input = byId("picture");
  byId("open-picture").addEventListener("click", () => input.click());
  input.addEventListener("change", () => {
    if (input.files.length) open(input.files[0]);
    input.value = "";
  });
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  const cover = (isOver) => byId("drop").classList.toggle("over", isOver);
  addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    cover(true);
  });
  addEventListener("dragleave", (event) => event.relatedTarget === null && cover(false));
  addEventListener("drop", (event) => {
    cover(false);
    if (!hasFiles(event)) return;
    event.preventDefault();
    open(event.dataTransfer.files[0]);
  });
}
