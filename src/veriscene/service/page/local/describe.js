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
  "!=": ["a different number of", "than"],
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
// What is said of an item if there is such another one, and of the other one.
const RELATIONS = {
  get_touching: ["touching", "touching"],
  get_closely_touching: ["close to", "close to"],
  get_above: ["below (in a tower: directly below)", "above (in a tower: directly on)"],
  get_below: ["above (in a tower: directly on)", "below (in a tower: directly below)"],
  get_box_all_above: ["below", "above"],
  get_box_all_below: ["above", "below"],
  get_img_all_above: ["below", "above"],
  get_img_all_below: ["above", "below"],
  get_directly_above: ["directly below", "directly on"],
  get_directly_below: ["directly on", "directly below"],
  get_box_all_left: ["to the right of", "to the left of"],
  get_box_all_right: ["to the left of", "to the right of"],
};
const OTHERS = {
  get_box_inclusive: ["", "in its #"],
  get_box_exclusive: ["other", "in its #"],
  get_img_exclusive: ["other", ""],
};
const MEASURES = { area: "size", center_x: "place from the left", center_y: "place from the top" };
const EXTREMES = { min: "least", max: "greatest" };
// What is said of an item, and of one where towers are spoken of.
const PLACES = {
  is_top: ["topmost", "at the top"],
  is_bottom: ["bottommost", "at the bottom"],
  is_leftmost: ["leftmost"],
  is_rightmost: ["rightmost"],
  is_second: ["second from below"],
  is_third: ["third from below"],
  is_foreign: ["of a kind unknown here"],
};
const WALLS = {
  is_touching_wall: "at # wall",
  is_closely_touching_wall: "close to # wall",
  is_touching_corner: "in # corner",
  is_closely_touching_corner: "close to # corner",
};
const [OTHER, ORDERED, VALUE, PLACE] = [0, 1, 2, 3]; // ranks of adjectives: "other large blue topmost items"
const ADJECTIVE = /^(not (a )?|a )\S+$/; // a phrase that follows a noun as "that is …" only
const REACHING = / (where|that) | a .* a /; // in a phrase: what follows could be said of a noun in it
export const NUMBERS =
  (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen " +
    "seventeen eighteen nineteen twenty"
  ).split(" ");
export const ORDINALS = "zeroth first second third fourth fifth sixth seventh eighth ninth tenth".split(" ");

/** A program in plain words. */
export function readingOf({ language, tree }) {
  const text = new Describer(language.world).truth(tree);
  return text.replace(/\b([aA]) (?=[aeiAEIáàâäéèêëíìîïóòôöúùûüÁÀÂÄÉÈÊËÍÌÎÏÓÒÔÖÚÙÛÜ]|[oO](?!ne\b)|[uU](?!ni)|8|1[18]\b)/g, "$1n ");
}

const isCall = (node, ...names) => node?.kind === "call" && names.includes(node.function.name);
const isOf = (table, node) => node?.kind === "call" && Object.hasOwn(table, node.function.name);
const isCount = (node) => isCall(node, "count", "len");
const isFilter = (node) => isCall(node, "filter_obj") && node.parts[1].kind === "lambda";
const isTested = (node) => isCall(node, "All", "Any") && node.parts[1].kind === "lambda";
const isSet = (node) => String(node.type).startsWith("[]");
/** Whether the members are boxes or sets, of which more can be said than fits into a noun. */
const hasParts = (node) => /^\[\](box|\[\])/.test(node.type);
const isUnlike = (node) => node.kind === "comparison" && node.words.join() === "!=" && node.parts[0].type === "box";
const isGlobal = ({ name }) => name === "all_boxes" || name === "all_items";
const lastWord = (name) => name.slice(name.lastIndexOf(".") + 1).toLowerCase();
const numberWord = (value) => NUMBERS[value] ?? String(value);
const ordinal = (at) => ORDINALS[at + 1] ?? `${at + 1}th`;
const conjuncts = (body) => (body.kind === "logic" && body.word === "and" ? body.parts : [body]);
/** All of a kind of which there may be none is false then, unlike "every" in a program of `not` and `exist`. */
const isOfSome = (node) =>
  isCall(node, "All") && isTested(node) && isFilter(node.parts[0]) && !conjuncts(node.parts[0].parts[1].body).every(isUnlike);
const has = (table, name) => Object.hasOwn(table, name);
const [NAMED, LETTERS] = [["item", "box"], "XYZUVW"]; // items and boxes are told apart by letters
const ALL_ITEMS = { kind: "variable", name: "all_items", type: "[]item" };

const inside = (node) => (node.kind === "lambda" ? [node.body] : (node.parts ?? []));
/** A node and all within it. */
const nodesOf = (node) => [node, ...inside(node).flatMap(nodesOf)];
const added = (node) => (isCall(node, "+") ? node.parts.flatMap(added) : [node]);
/** The parameters that a node uses and does not bind, with their types. */
function free(node) {
  if (node.kind === "variable") return new Map(isGlobal(node) ? [] : [[node.name, node.type]]);
  const found = new Map(inside(node).flatMap((each) => [...free(each)]));
  if (node.kind === "lambda") found.delete(node.name);
  return found;
}

/** The noun for those with a value: "circles", "blue items", "items on offer". */
function valued(noun, attribute, { value }) {
  const choice = attribute.choices[value];
  if (attribute.isNoun) return noun.named(choice.word, choice.plural?.[0] ?? `${choice.word}s`);
  if (choice.word.includes(" ")) return noun.with({ after: choice.word });
  return noun.with({ before: choice.word, rank: attribute.kind === "ordered" ? ORDERED : VALUE });
}

/** A noun with adjectives, each with its rank, and the phrases after it. */
class Things {
  constructor(singular, plural, before = [], after = []) {
    Object.assign(this, { singular, plural, before, after });
  }

  get all() {
    return this.#said(this.plural, "are");
  }

  get one() {
    return this.#said(this.singular, "is");
  }

  #said(noun, verb) {
    let after = "";
    for (const [at, phrase] of this.after.entries()) {
      // What follows another noun would be said of that one.
      const link = /where |that ~is| a /.test(after) ? " and" : "";
      const isBare = after.includes("that ~is") && !/^(that ~is|where )/.test(phrase);
      const said = isBare ? `that ~is ${phrase}` : phrase;
      after += at < this.after.length - 1 && REACHING.test(said) ? `${link} (${said})` : `${link} ${said}`;
    }
    const adjectives = [...new Set(this.before.map(([rank, word]) => `${rank}${word} `))].sort();
    return adjectives.map((each) => each.slice(1)).join("") + noun + after.replaceAll("~is", verb);
  }

  with({ before = "", after = "", rank = OTHER }) {
    return new Things(
      this.singular,
      this.plural,
      before ? [...this.before, [rank, before]] : this.before,
      after && !this.after.includes(after) ? [...this.after, after] : this.after,
    );
  }

  named(singular, plural) {
    return new Things(singular, plural, this.before, this.after);
  }
}

class Describer {
  constructor(world) {
    this.world = world;
    this.attributes = new Map(world.attributes.map((each) => [each.name, each]));
    this.letters = {}; // of the parameters around a node; "" if a pronoun is clear enough
    [this.inBoxes, this.inTowers] = [new Set(), new Set()]; // nodes in what is said of a box, and of a tower
  }

  // ---------------------------------------------------------------- truths

  /** What holds, as a clause. */
  truth(node) {
    const found = this.said(node);
    if (found) return `${this.term(found[0])} is ${found[1]}`;
    const { kind, parts = [] } = node;
    const [first, second] = parts;
    if (isCall(node, "not")) return this.negated(first);
    if (isCall(node, "exist", "count", "len")) return this.existing(first);
    if (isTested(node)) {
      const isEvery = isCall(node, "All");
      if (first.kind === "display") {
        const of = first.parts.length === 1 ? "" : isEvery ? "each of " : "one of ";
        this.enter(second);
        return `${of}${this.listed(first.parts)}: ${this.truth(second.body)}`;
      }
      const noun = this.noun(first, second, []);
      const phrase = hasParts(first) ? null : this.phrase(second.body, second.name);
      const told = phrase === null ? `: ${this.truth(second.body)}` : ` is ${phrase}`;
      const said = `${isEvery ? "every" : "some"} ${noun.one}${told}`;
      return isOfSome(node) ? `${said} (and there is one)` : said;
    }
    if (kind === "comparison" && node.words.length > 1) {
      if (node.words.join() === "<=,<=" && first.kind === "number" && parts[2].kind === "number")
        return `${this.term(first)} to ${this.term(parts[2])} ${this.counted(second)}`;
      return node.words.map((word, at) => this.compared(parts[at], word, parts[at + 1])).join(", and ");
    }
    if (kind === "comparison") return this.compared(first, node.words[0], second);
    if (kind === "logic") return this.joined(node.word, parts);
    if (kind === "call") {
      const { name } = node.function;
      if (name === "all_same") return `${this.term(first)} are alike`;
      if (name === "all_same_attribute" && second.body?.kind === "call" && second.body.parts.length === 1) {
        const noun = this.noun(first, second, []);
        const counted = isCount(second.body) ? this.things(second.body.parts[0]).all : null;
        return `all ${noun.all} have ${counted === null ? `the same ${this.measure(second.body)}` : `equally many ${counted}`}`;
      }
      if (name.startsWith("all_same_") && parts.length === 1)
        return `${this.things(first).all} have the same ${name.slice("all_same_".length)}`;
      if (name === "contained") return `${this.term(first)} are among ${this.term(second)}`;
      if (name === "member_of") return `${this.term(first)} is among ${this.term(second)}`;
      if (name.split("_")[0] === "equal") return this.equal(first, second);
    }
    return isSet(node) ? this.existing(node) : unparse(node);
  }

  joined(word, parts) {
    const said = parts.map((each, at) => {
      const text = this.truth(each);
      // What follows a colon reaches as far as it can.
      const isOpen = each.kind === "logic" || (text.includes(": ") && at < parts.length - 1);
      return parts.length > 1 && isOpen ? `(${text})` : text;
    });
    return said.join(word === "or" ? " or " : ", and ");
  }

  negated(node) {
    if (isCall(node, "exist")) return this.none(node.parts[0]);
    if (node.kind === "comparison" && node.words.length === 1 && has(NEGATED, node.words[0]))
      return this.compared(node.parts[0], NEGATED[node.words[0]], node.parts[1]);
    if (isCall(node, "not")) return this.truth(node.parts[0]);
    return node.kind === "logic" || isOfSome(node) ? `not: (${this.truth(node)})` : `not: ${this.truth(node)}`;
  }

  none(members) {
    if (isFilter(members)) {
      const [within, test] = members.parts;
      const conditions = [...conjuncts(test.body)];
      const last = conditions.pop();
      if (isCall(last, "not") && (!hasParts(within) || conditions.every(isUnlike))) {
        const noun = this.noun(within, test, conditions);
        const phrase = hasParts(within) ? null : this.phrase(last.parts[0], test.name);
        return `every ${noun.one}${phrase === null ? `: ${this.truth(last.parts[0])}` : ` is ${phrase}`}`;
      }
    }
    return this.amount("no", members, hasParts(members));
  }

  /** So many items, or so many boxes and what is said of them. */
  amount(amount, members, isSingular) {
    if (isFilter(members) && hasParts(members.parts[0])) {
      const [within, test] = members.parts;
      const parts = conjuncts(test.body);
      const noun = this.noun(within, test, parts.filter(isUnlike));
      const rest = parts.filter((each) => !isUnlike(each));
      return `${amount} ${isSingular ? noun.one : noun.all}${rest.length ? `: ${this.joined("and", rest)}` : ""}`;
    }
    const noun = this.things(members);
    return `${amount} ${isSingular ? noun.one : noun.all}`;
  }

  existing(members) {
    return this.amount(isCall(members, "filter_obj") && hasParts(members) ? "some" : "at least one", members, true);
  }

  compared(left, sign, right) {
    if (left.kind === "number" && right.kind !== "number") return this.compared(right, FLIPPED[sign], left);
    if (right.kind === "number" && isCount(left)) {
      const [members] = left.parts;
      if (sign === "!=") return `not exactly ${numberWord(right.value)} ${this.counted(left)}`;
      if (sign === "==" && right.value === 0) return this.none(members);
      return this.amount(AMOUNTS[sign].replace("#", numberWord(right.value)), members, right.value === 1);
    }
    if (isCall(left, "%") && left.parts[1].value === 2 && sign === "==" && (right.value === 0 || right.value === 1))
      return `${this.term(left.parts[0])} is ${right.value ? "odd" : "even"}`;
    if (isCount(left) && isCount(right)) {
      const [before, between] = MORE[sign];
      return `${before} ${this.counted(left)} ${between} ${this.counted(right)}`;
    }
    if (left.type === "truth" && right.type === "truth") {
      const both = [this.truth(left), this.truth(right)];
      return sign === "==" ? both.join(" exactly if ") : `either ${both.join(" or ")}, but not both`;
    }
    const same = sign === "==" || sign === "!=" ? this.inCommon(left, right) : "";
    if (same) return sign === "==" ? same : `not: ${same}`;
    return `${this.term(left)} ${IS[sign]} ${this.term(right)}`;
  }

  equal(left, right) {
    if (left.type === "number") return this.compared(left, "==", right);
    return this.inCommon(left, right) || `${this.term(left)} are exactly ${this.term(right)}`;
  }

  /** That two items have the same value of an attribute; "" if something else is compared. */
  inCommon(left, right) {
    const isOfItem = ({ kind, parts }) => kind === "call" && parts.length === 1 && parts[0].type === "item";
    if (!isOfItem(left) || !isOfItem(right) || left.function.name !== right.function.name) return "";
    const attribute = left.function.name.replace(/^query_/, "");
    return `${this.term(left.parts[0])} and ${this.term(right.parts[0])} have the same ${attribute}`;
  }

  counted(node) {
    return isCount(node) ? this.things(node.parts[0]).all : this.term(node);
  }

  // ---------------------------------------------------------------- sets

  /** A set as a noun. */
  things(node) {
    const { item, itemWords, box, boxWords } = this.world;
    const items = new Things(item, itemWords);
    const { kind, type, parts = [] } = node;
    const [first, second] = parts;
    if (kind === "variable" && isGlobal(node)) {
      if (node.name === "all_boxes") return new Things(box, boxWords);
      return items.with({ after: this.inBoxes.has(node) ? "in the scene" : "" });
    }
    if (kind === "variable" && type === "box") {
      const letter = this.letters[node.name];
      return items.with({ after: letter ? `in ${letter}` : "" });
    }
    if (kind === "call" && type === "box") return items.with({ after: `in ${this.term(node)}` });
    if (isFilter(node)) return this.noun(first, second, conjuncts(second.body));
    if (kind === "call") {
      const { name } = node.function;
      if (name.startsWith("filter_") && parts.length === 2) {
        const noun = this.things(first);
        if (second.kind !== "constant") return noun.with({ after: `of ${this.term(second)}` });
        return valued(noun, this.attributes.get(name.slice("filter_".length)), second);
      }
      if (has(RELATIONS, name)) return items.with({ after: `${RELATIONS[name][1]} ${this.term(first)}` });
      if (has(OTHERS, name)) {
        const [before, after] = OTHERS[name];
        return items.with({ before, after: after.replace("#", box) });
      }
      if (name === "all_items_in_box") return this.things(first);
      if (name === "set")
        return first.kind === "call" && first.parts.length === 1 && this.attributes.has(first.function.name)
          ? this.values(first.function.name, first.parts[0], true)
          : this.things(first);
      if (name.startsWith("get_set_")) return this.values(name.slice("get_set_".length).replace(/s$/, ""), first, true);
      const attribute = name.replace(/^query_/, "");
      if (this.attributes.has(attribute) || name === "area")
        return this.values(MEASURES[attribute] ?? attribute, first, false);
      if (name === "union") {
        const [one, other] = [this.things(first), this.things(second)];
        return new Things(`${one.one} or ${other.one}`, `${one.all} or ${other.all}`);
      }
      if (name === "intersect")
        return this.things(first).with({ after: `that ~is also among ${this.things(second).all}` });
      if (name === "combinations" && second.kind === "number") {
        const [group, several] = second.value === 2 ? ["pair", "of"] : ["group", `of ${numberWord(second.value)}`];
        return new Things(group, `${group}s`, [], [`${several} ${this.things(first).all}`]);
      }
    }
    if (kind === "display") return new Things(this.listed(parts), this.listed(parts));
    if (kind === "variable" && isSet(node)) return new Things("one of them", "of them");
    return new Things(unparse(node), unparse(node));
  }

  values(attribute, within, isDifferent) {
    const of = `${within.type === "box" ? "in" : "of"} ${this.term(within)}`;
    return new Things(`${attribute} ${of}`, `${isDifferent ? "different " : ""}${attribute}s ${of}`);
  }

  /** The members that meet the conditions; from here on its parameter has a name. */
  noun(within, test, conditions) {
    let noun = this.things(within);
    const letter = this.enter(test);
    for (const each of conditions) {
      const tested = this.tested(each);
      if (tested && each.words[0] === "==" && tested.item.kind === "variable" && tested.item.name === test.name)
        noun = valued(noun, tested.attribute, each.parts[1]);
      else {
        const phrase = this.phrase(each, test.name) ?? `where ${this.truth(each)}`;
        const isEither = each.kind === "logic" && !phrase.startsWith("where ");
        const that = isEither || ADJECTIVE.test(phrase) ? "that ~is " : "";
        noun = noun.with(phrase.includes(" ") ? { after: that + phrase } : { before: phrase, rank: PLACE });
      }
    }
    if (!letter || noun.singular.endsWith(` ${letter}`)) return noun;
    return noun.named(`${noun.singular} ${letter}`, `${noun.plural} ${letter}`);
  }

  /** Gives a parameter a letter, if two of its kind are told apart within its lambda; returns it. */
  enter(test) {
    const nodes = nodesOf(test.body);
    if (test.takes === "box") nodes.forEach((each) => this.inBoxes.add(each));
    if (nodes.some((each) => isCall(each, "is_tower"))) nodes.forEach((each) => this.inTowers.add(each));
    const lettered = [...free(test)].filter(([name]) => this.letters[name]);
    const last = Math.max(-1, ...lettered.map(([name]) => LETTERS.indexOf(this.letters[name])));
    const isToldApart =
      nodes.some((each) => each.kind === "lambda" && each.takes === test.takes && free(each).has(test.name)) ||
      lettered.some(([, type]) => type === test.takes);
    const letter = isToldApart && NAMED.includes(test.takes) ? (LETTERS[last + 1] ?? "") : "";
    const isWide = test.takes === "box" && nodes.some(({ kind, name }) => kind === "variable" && name === "all_items");
    this.letters[test.name] = letter || (isWide ? "it" : ""); // and not the scene
    return letter;
  }

  /** The item and the attribute whose value a comparison tests; null for other conditions. */
  tested(node) {
    if (node.kind !== "comparison" || !["==", "!="].includes(node.words.join())) return null;
    const [called, value] = node.parts;
    if (called.kind !== "call" || called.parts.length !== 1 || value.kind !== "constant") return null;
    const attribute = this.attributes.get(called.function.name);
    return attribute && called.parts[0].type === "item" ? { attribute, item: called.parts[0] } : null;
  }

  // ---------------------------------------------------------------- what is said of one item or box

  /** The item or box of which a condition speaks, and what follows "is"; null for other conditions. */
  said(node) {
    const { kind, parts = [] } = node;
    const [first, second] = parts;
    if (isCall(node, "not") && first.kind !== "logic") {
      const found = this.said(first);
      return found && [found[0], denied(found[1])];
    }
    if (kind === "logic") {
      const clauses = parts.map((each) => this.said(each));
      if (!clauses.every((each) => each && unparse(each[0]) === unparse(clauses[0][0]))) return null;
      const said = clauses.map(([, phrase], at) => (parts[at].kind === "logic" ? `(${phrase})` : phrase));
      return [clauses[0][0], said.join(` ${node.word} `)];
    }
    if (kind === "comparison") {
      const tested = this.tested(node);
      if (tested) {
        const { word } = tested.attribute.choices[second.value];
        const noun = tested.attribute.isNoun ? `a ${word}` : word;
        return [tested.item, node.words[0] === "!=" ? denied(noun) : noun];
      }
      if (["==", "!="].includes(node.words.join()) && isCall(first, "box"))
        return [first.parts[0], `${node.words[0] === "!=" ? "not " : ""}in ${this.term(second)}`];
      if (node.words.join() === "!=" && first.kind === "variable" && NAMED.includes(first.type))
        return [first, `other than ${this.term(second)}`];
    }
    if (isOf(PLACES, node)) return [first, PLACES[node.function.name].at(this.inTowers.has(node) ? -1 : 0)];
    if (isOf(WALLS, node)) {
      const side = second?.kind === "constant" ? second.value : null;
      return [first, WALLS[node.function.name].replace("#", side === null ? "a" : `the ${side.toLowerCase()}`)];
    }
    if (isCall(node, "is_closely_touching")) return [first, `close to ${this.term(second)}`];
    if (isCall(node, "is_tower")) return isCall(first, "box") ? [first.parts[0], "in a tower"] : [first, "a tower"];
    if (isCall(node, "exist") && isOf(RELATIONS, first))
      return [first.parts[0], `${RELATIONS[first.function.name][0]} a ${this.world.item}`];
    if (isCall(node, "exist") && first.kind === "call" && isOf(RELATIONS, first.parts[0]) && first.parts[1]?.kind === "lambda") {
      const [related, test] = first.parts;
      const noun = this.noun(ALL_ITEMS, test, conjuncts(test.body));
      return [related.parts[0], `${RELATIONS[related.function.name][0]} a ${noun.one}`];
    }
    return null;
  }

  /** What follows "is" in a condition on a parameter. */
  phrase(node, own) {
    const found = this.said(node);
    return found && found[0].kind === "variable" && found[0].name === own ? found[1] : null;
  }

  // ---------------------------------------------------------------- single values

  term(node) {
    const { kind, parts = [] } = node;
    const [first, second] = parts;
    if (kind === "variable") {
      if (NAMED.includes(node.type)) return this.letters[node.name] || "it";
      if (isSet(node)) return isGlobal(node) ? this.things(node).all : "them";
      if (/^[@<]/.test(node.type)) return `that ${node.type.slice(1)}`;
    }
    if (isCall(node, "[]") && first.kind === "variable" && second.kind === "number" && isSet(first)) {
      if (first.name === "all_boxes") return `the ${this.which(second.value)} ${this.world.box}`;
      if (!isGlobal(first)) return `the ${ordinal(second.value)} of them`;
    }
    if (isCall(node, "last") && first.name === "all_boxes") return `the last ${this.world.box}`;
    if (isCall(node, "unique")) return `the only ${this.things(first).one}`;
    if (isCount(node)) return `the number of ${this.things(first).all}`;
    if (isOf(EXTREMES, node)) {
      const extreme = EXTREMES[node.function.name];
      if (parts.length === 1 && first.kind === "call" && first.parts.length === 1)
        return `the ${extreme} ${this.measure(first)} of ${this.things(first.parts[0]).all}`;
      if (second?.kind === "lambda" && second.body.kind === "call") {
        this.enter(second);
        const { body } = second;
        const most = node.function.name === "max" ? "most" : "fewest";
        const said = isCount(body) ? `${most} ${this.things(body.parts[0]).all}` : `${extreme} ${this.key(body)}`;
        return `the ${this.things(first).one} with the ${said}`;
      }
    }
    if (isCall(node, "sum") && second?.kind === "lambda" && second.body.kind === "call") {
      this.enter(second);
      return `the total ${this.key(second.body)} of ${this.things(first).all}`;
    }
    if (kind === "call" && parts.length === 1 && first.type === "item" && !isSet(node)) {
      const of = this.term(first);
      return of === "it" ? `its ${this.measure(node)}` : `the ${this.measure(node)} of ${of}`;
    }
    if (isCall(node, "distance")) return `the distance of ${this.term(first)} from ${this.term(second)}`;
    if (isCall(node, "*")) return this.times(this.term(second), first);
    const terms = added(node);
    if (terms.length > 1 && isCount(second) && new Set(terms.map(unparse)).size === 1)
      return this.times(numberWord(terms.length), second);
    if (terms.length > 1) return `${this.term(first)} plus ${this.term(second)}`;
    if (kind === "constant") return lastWord(node.name);
    if (kind === "number") return numberWord(node.value);
    return isSet(node) ? this.things(node).all : unparse(node);
  }

  times(number, node) {
    const said = added(node).length > 1 ? `(${this.term(node)})` : this.term(node);
    return `${number === "two" ? "twice" : `${number} times`} ${said}`;
  }

  measure(node) {
    const { name } = node.function;
    return name === "box" ? this.world.box : (MEASURES[name] ?? name);
  }

  key(node) {
    return isCall(node, "distance") ? `distance from ${this.term(node.parts[1])}` : this.measure(node);
  }

  listed(members) {
    return members.map((each) => this.term(each)).join(" and ");
  }

  which(at) {
    const [low, high] = this.world.boxes;
    if (low === 3 && high === 3 && at < 3) return ["left", "middle", "right"][at];
    return ordinal(at);
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

/** What is not so: "not black", and "on offer" of a value that is said as "not on offer". */
const denied = (phrase) => (phrase.startsWith("not ") ? phrase.slice(4) : `not ${phrase}`);
