// A program in plain words, and as text: a port of the package's english/reading.py and of language/text.py.

import { many } from "./types.js";

const AMOUNTS = { "==": "exactly #", ">=": "at least #", ">": "more than #", "<=": "at most #", "<": "fewer than #" };
const FLIPPED = { "==": "==", "!=": "!=", ">=": "<=", "<=": ">=", ">": "<", "<": ">" };
const NEGATED = { "!=": "==", ">=": "<", "<=": ">", ">": "<=", "<": ">=" };
const MORE = {
  ">": ["more", "than"],
  "<": ["fewer", "than"],
  ">=": ["at least as many", "as"],
  "<=": ["at most as many", "as"],
  "==": ["as many", "as"],
  "!=": ["not as many", "as"],
};
const IS = {
  "==": "is",
  "!=": "is not",
  in: "is among",
  "not in": "is not among",
  ">": "is more than",
  "<": "is less than",
  ">=": "is at least",
  "<=": "is at most",
};
const RELATIONS = {
  get_touching: "touching",
  get_closely_touching: "close to",
  get_above: "below",
  get_below: "above",
  get_box_all_above: "below",
  get_box_all_below: "above",
  get_directly_above: "directly below",
  get_directly_below: "directly on",
  get_box_all_left: "to the right of",
  get_box_all_right: "to the left of",
};
const EXTREMES = { min: "least", max: "greatest" };
const PLACES = {
  is_top: "at the top",
  is_bottom: "at the bottom",
  is_leftmost: "farthest left",
  is_rightmost: "farthest right",
  is_second: "second from below",
  is_third: "third from below",
  is_foreign: "of a kind that does not occur here",
};
const WALLS = {
  is_touching_wall: "at # wall",
  is_closely_touching_wall: "close to # wall",
  is_touching_corner: "in # corner",
  is_closely_touching_corner: "close to # corner",
};
const NUMBERS =
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split(" ");
export const ORDINALS = "zeroth first second third fourth fifth sixth seventh eighth ninth tenth".split(" ");

/** A program in plain words. */
export function readingOf({ language, tree }) {
  const text = new Describer(language.world).truth(tree);
  return text.replace(/\b([aA]) (?=[aei]|o(?!ne\b)|u(?!ni)|8|11\b)/g, "$1n ");
}

const isCall = (node, ...names) => node.kind === "call" && names.includes(node.function.name);
const isBoxes = (node) => node.type === many("box");
const isCount = (node) => isCall(node, "count", "len");
const isFilter = (node) => isCall(node, "filter_obj") && node.parts[1].kind === "lambda";
const isLast = (name) => name.slice(name.lastIndexOf(".") + 1).toLowerCase();
const numberWord = (value) => NUMBERS[value] ?? String(value);
const conjuncts = (body) => (body.kind === "logic" && body.word === "and" ? body.parts : [body]);
const has = (table, name) => Object.hasOwn(table, name);

/** A noun with words before and after it. */
class Things {
  constructor(singular, plural, before = "", after = "") {
    Object.assign(this, { singular, plural, before, after });
  }

  get all() {
    return this.#said(this.plural);
  }

  get one() {
    return this.#said(this.singular);
  }

  #said(noun) {
    return `${this.before} ${noun} ${this.after}`.split(/\s+/).filter(Boolean).join(" ");
  }

  with({ before = "", after = "", noun = [this.singular, this.plural] }) {
    return new Things(...noun, `${this.before} ${before}`.trim(), `${this.after} ${after}`.trim());
  }
}

class Describer {
  constructor(world) {
    this.world = world;
    this.attributes = new Map(world.attributes.map((each) => [each.name, each]));
  }

  // ---------------------------------------------------------------- truths

  truth(node) {
    const { kind, parts = [] } = node;
    if (isCall(node, "not")) return this.negated(parts[0]);
    if (isCall(node, "exist")) return this.quantified("some", "at least one", parts[0]);
    if (isCall(node, "All", "Any") && parts[1].kind === "lambda") {
      const [members, test] = parts;
      if (isCall(node, "Any") && members.kind === "display" && members.parts.length === 1)
        return `${this.term(members.parts[0])}: ${this.condition(test.body)}`;
      return `${isCall(node, "All") ? "every" : "some"} ${this.things(members).one}: ${this.condition(test.body)}`;
    }
    if (kind === "comparison" && parts.length === 2) return this.compared(parts[0], node.words[0], parts[1]);
    if (kind === "comparison" && parts.length === 3 && node.words.join() === "<=,<=") {
      const [low, counted, high] = parts;
      if (low.kind === "number" && high.kind === "number") return `${low.value} to ${high.value} ${this.counted(counted)}`;
    }
    if (kind === "logic") {
      const said = parts.map((each) => (each.kind === "logic" ? `(${this.truth(each)})` : this.truth(each)));
      return said.join(node.word === "or" ? " or " : ", and ");
    }
    if (isCall(node, "is_tower")) return "it is a tower";
    if (kind === "call" && node.function.name.startsWith("all_same_")) {
      const { name } = node.function;
      if (parts.length === 1) return `${this.things(parts[0]).all} have the same ${name.slice("all_same_".length)}`;
      const [members, of] = parts;
      if (name === "all_same_attribute" && of.kind === "lambda" && of.body.kind === "call")
        return `${this.things(members).all} have the same ${of.body.function.name}`;
    }
    return this.condition(node);
  }

  negated(node) {
    if (isCall(node, "exist")) return this.none(node.parts[0]);
    if (node.kind === "comparison" && node.words.length === 1 && has(NEGATED, node.words[0]))
      return this.compared(node.parts[0], NEGATED[node.words[0]], node.parts[1]);
    return isCall(node, "not") ? this.truth(node.parts[0]) : `not: ${this.truth(node)}`;
  }

  quantified(ofBoxes, ofItems, members) {
    if (isFilter(members) && isBoxes(members.parts[0]))
      return `${ofBoxes} ${this.things(members.parts[0]).one}: ${this.truth(members.parts[1].body)}`;
    return `${ofItems} ${this.things(members).one}`;
  }

  none(members) {
    if (isFilter(members)) {
      const [within, { body }] = members.parts;
      if (isBoxes(within)) {
        const box = this.things(within).one;
        return isCall(body, "not") ? `every ${box}: ${this.truth(body.parts[0])}` : `no ${box}: ${this.truth(body)}`;
      }
      const parts = conjuncts(body);
      const said = parts.at(-1);
      if (isCall(said, "not"))
        return `every ${this.restricted(this.things(within), parts.slice(0, -1)).one} is ${this.predicate(said.parts[0])}`;
    }
    return `no ${this.things(members).all}`;
  }

  compared(left, sign, right) {
    if (left.kind === "number" && right.kind !== "number") return this.compared(right, FLIPPED[sign], left);
    if (right.kind === "number" && isCount(left) && has(AMOUNTS, sign))
      return this.amount(AMOUNTS[sign].replace("#", numberWord(right.value)), left, right.value === 1);
    if (right.kind === "number" && isCount(left) && sign === "!=")
      return `not exactly ${numberWord(right.value)} ${this.counted(left)}`;
    if (isCount(left) && isCount(right) && has(MORE, sign)) {
      const [before, between] = MORE[sign];
      return `${before} ${this.counted(left)} ${between} ${this.counted(right)}`;
    }
    return `${this.term(left)} ${IS[sign]} ${this.term(right)}`;
  }

  amount(amount, counted, isSingular) {
    const [members] = counted.parts;
    const isOfBoxes = isFilter(members) && isBoxes(members.parts[0]);
    const noun = this.things(isOfBoxes ? members.parts[0] : members);
    const said = `${amount} ${isSingular ? noun.one : noun.all}`;
    return isOfBoxes ? `${said}: ${this.truth(members.parts[1].body)}` : said;
  }

  counted(node) {
    return node.kind === "call" ? this.things(node.parts[0]).all : this.term(node);
  }

  // ---------------------------------------------------------------- sets

  /** A set as a noun. */
  things(node) {
    const { item, itemWords, box, boxWords } = this.world;
    const { kind, parts = [] } = node;
    if (kind === "variable") {
      const noun = node.name === "all_boxes" ? [box, boxWords] : [item, itemWords];
      return new Things(...noun, "", node.type === "item" ? "like it" : "");
    }
    if (isFilter(node)) return this.restricted(this.things(parts[0]), conjuncts(parts[1].body));
    if (kind === "call") {
      const { name } = node.function;
      if (parts.length === 2 && name.startsWith("filter_") && parts[1].kind === "constant")
        return this.things(parts[0]).with({ before: isLast(parts[1].name) });
      if ((parts.length === 2 && name === "[]") || (parts.length === 1 && name === "last"))
        return new Things(item, itemWords, "", `in ${this.term(node)}`);
      if (parts.length === 1 && has(RELATIONS, name))
        return new Things(item, itemWords, "", `such that it is ${RELATIONS[name]} it`);
      if (parts.length === 1 && name === "all_items_in_box") return this.things(parts[0]);
      if (parts.length === 1 && String(node.type).startsWith("[]")) {
        const said = `${name} of ${this.things(parts[0]).all}`;
        return new Things(said, said);
      }
    }
    return new Things(unparse(node), unparse(node));
  }

  restricted(noun, parts) {
    return parts.reduce((found, part) => {
      const tested = this.tested(part, "==");
      if (!tested) return found.with({ after: this.predicate(part) });
      const { attribute, choice } = tested;
      if (attribute.isNoun) return found.with({ noun: [choice.word, choice.plural?.[0] ?? `${choice.word}s`] });
      return found.with({ [choice.word.includes(" ") ? "after" : "before"]: choice.word });
    }, noun);
  }

  /** The attribute and the choice that a comparison tests an item for; null for other conditions. */
  tested(node, ...signs) {
    if (node.kind !== "comparison" || node.words.length !== 1 || !signs.includes(node.words[0])) return null;
    const [called, value] = node.parts;
    const isTest =
      called.kind === "call" &&
      called.parts.length === 1 &&
      called.parts[0].kind === "variable" &&
      value.kind === "constant";
    const attribute = isTest ? this.attributes.get(called.function.name) : null;
    return attribute ? { attribute, choice: attribute.choices[value.value] } : null;
  }

  // ---------------------------------------------------------------- conditions on an item

  /** What is said of an item after its noun, or after "is". */
  predicate(node) {
    const { kind, parts = [] } = node;
    const tested = this.tested(node, "==", "!=");
    if (tested) {
      const { attribute, choice } = tested;
      return `${node.words[0] === "!=" ? "not " : ""}${attribute.isNoun ? `a ${choice.word}` : choice.word}`;
    }
    if (isCall(node, "not")) return `not ${this.predicate(parts[0])}`;
    const isOfItem = kind === "call" && parts[0]?.kind === "variable";
    if (isOfItem && parts.length === 1 && has(PLACES, node.function.name)) return PLACES[node.function.name];
    if (isOfItem && has(WALLS, node.function.name)) {
      const side = parts[1]?.kind === "constant" ? parts[1].value : null;
      return WALLS[node.function.name].replace("#", side === null ? "a" : `the ${side.toLowerCase()}`);
    }
    if (isCall(node, "exist") && parts[0].kind === "call") {
      const [inner] = parts;
      const isRelation = (each) => each.kind === "call" && has(RELATIONS, each.function.name);
      if (isFilter(inner) && isRelation(inner.parts[0])) {
        const noun = this.restricted(new Things(this.world.item, this.world.itemWords), conjuncts(inner.parts[1].body));
        return `${RELATIONS[inner.parts[0].function.name]} a ${noun.one}`;
      }
      if (isRelation(inner)) return `${RELATIONS[inner.function.name]} a ${this.world.item}`;
    }
    if (kind === "comparison" && node.words.join() === "==" && isCall(parts[0], "box")) return `in ${this.term(parts[1])}`;
    if (kind === "logic") return parts.map((each) => this.predicate(each)).join(` ${node.word} `);
    return `where ${this.truth(node)}`;
  }

  condition(node) {
    const { kind, parts = [] } = node;
    const isPlace = kind === "call" && (has(PLACES, node.function.name) || has(WALLS, node.function.name));
    if ((isPlace && parts[0].kind === "variable") || this.tested(node, "==", "!="))
      return `it is ${this.predicate(node)}`;
    if (kind === "logic") return this.truth(node);
    if (isCall(node, "exist", "not") && parts[0].kind === "call") return this.truth(node);
    return unparse(node);
  }

  // ---------------------------------------------------------------- single values

  term(node) {
    const { kind, parts = [] } = node;
    const [first, second] = parts;
    const isOfBoxes = first?.kind === "variable" && first.name === "all_boxes";
    if (isCall(node, "[]") && isOfBoxes && second.kind === "number") return `the ${this.which(second.value)} ${this.world.box}`;
    if (isCall(node, "last") && isOfBoxes) return `the last ${this.world.box}`;
    if (isCall(node, "unique")) return `the only ${this.things(first).one}`;
    if (isCount(node)) return `the number of ${this.things(first).all}`;
    if (kind === "call" && parts.length === 1 && this.attributes.has(node.function.name))
      return `the ${node.function.name} of ${this.term(first)}`;
    if (isCall(node, "min", "max")) {
      const extreme = EXTREMES[node.function.name];
      if (parts.length === 1 && first.kind === "call" && first.parts.length === 1) return `the ${extreme} of ${this.term(first)}`;
      if (second?.kind === "lambda" && second.body.kind === "call")
        return `the ${this.things(first).one} with the ${extreme} ${second.body.function.name}`;
    }
    if (isCall(node, "*")) return `${this.term(second)} times ${this.term(first)}`;
    if (isCall(node, "+")) return `${this.term(first)} plus ${this.term(second)}`;
    if (kind === "constant") return isLast(node.name);
    if (kind === "number") return numberWord(node.value);
    if (kind === "variable" && node.type === "item") return "it";
    if (isCall(node, "box") && first.kind === "variable") return `its ${this.world.box}`;
    return String(node.type).startsWith("[]") ? this.things(node).all : unparse(node);
  }

  which(at) {
    const [low, high] = this.world.boxes;
    if (low === 3 && high === 3 && at < 3) return ["left", "middle", "right"][at];
    return ORDINALS[at + 1] ?? `${at + 1}th`;
  }
}

// ---------------------------------------------------------------- programs as text

// Python's precedence, from loose to tight.
const [OR, AND, NOT, COMPARISON, SUM, PRODUCT, ATOM] = [1, 2, 3, 4, 5, 6, 7];
const PRECEDENCE = { or: OR, and: AND, not: NOT, "+": SUM, "*": PRODUCT, "%": PRODUCT };

/** The text of an expression, with no more parentheses than needed. */
export function unparse(node) {
  const { kind, parts = [] } = node;
  if (kind === "number") return String(node.value);
  if (kind === "constant" || kind === "variable") return node.name;
  if (kind === "lambda") return `lambda ${node.name}: ${unparse(node.body)}`;
  if (kind === "logic") return parts.map((part) => within(part, PRECEDENCE[node.word] + 1)).join(` ${node.word} `);
  if (kind === "comparison")
    return parts.map((part, at) => (at ? `${node.words[at - 1]} ` : "") + within(part, SUM)).join(" ");
  const inside = parts.map(unparse).join(", ");
  if (kind === "display") return node.isSet ? `{${inside}}` : `[${inside}]`;
  const { name, form, parameters } = node.function;
  const [first, ...others] = parts;
  if (name === "not") return `not ${within(first, NOT)}`;
  if (has(PRECEDENCE, name)) return `${within(first, PRECEDENCE[name])} ${name} ${within(others[0], PRECEDENCE[name] + 1)}`;
  if (name === "[]") return `${within(first, ATOM)}[${unparse(others[0])}]`;
  if (name === "[:]") return `${within(first, ATOM)}[${unparse(others[0])}:${others.slice(1).map(unparse).join("")}]`;
  if (form === "x.f") return `${within(first, ATOM)}.${name}`;
  if (form === "x.f()") return `${within(first, ATOM)}.${name}()`;
  return `${name}(${parts.map((part, at) => (parameters[at].isKey ? "key=" : "") + unparse(part)).join(", ")})`;
}

function within(node, loosest) {
  let precedence = { lambda: 0, comparison: COMPARISON, logic: PRECEDENCE[node.word] }[node.kind] ?? ATOM;
  if (node.kind === "call" && has(PRECEDENCE, node.function.name)) precedence = PRECEDENCE[node.function.name];
  return precedence >= loosest ? unparse(node) : `(${unparse(node)})`;
}
