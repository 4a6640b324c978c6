// Programs: from the tokens that a reader writes to a typed tree, and whether it holds of a scene. A port of the
// package's language/tokens.py, expression.py and execution.py.
//
// Nodes have a `type` (types.js) and a `kind`: number {value}, constant {name, value}, variable {name},
// lambda {name, body}, call {function, parts}, comparison {words, parts}, logic {word, parts}, display {isSet, parts}.

import { Undefined, collected, contains, distinct, functionsOf, isEqual, isTrue, place } from "./functions.js";
import { isComparable, isCondition, many, member, ofAttribute } from "./types.js";

const COMPARISONS = {
  "==": isEqual,
  "!=": (one, other) => !isEqual(one, other),
  "<": (one, other) => one < other,
  "<=": (one, other) => one <= other,
  ">": (one, other) => one > other,
  ">=": (one, other) => one >= other,
  in: contains,
  "not in": (one, other) => !contains(one, other),
};
const MAX_STEPS = 1_000_000; // calls of lambdas on one scene
const GLOBALS = { all_boxes: many("box"), all_items: many("item") };
const OWN_NAMES = { large: "BIG" }; // where lilGym's names of values differ from the world's

/** Tokens that describe no program. */
export class NoProgram extends Error {}

function check(condition) {
  if (!condition) throw new NoProgram();
}

/** How many expressions follow a token as its arguments. */
export function arity(token) {
  if (token.startsWith("value ")) return 0;
  if (token.startsWith("has ") || token === "lambda") return 1;
  if (token in COMPARISONS) return 2;
  const slash = token.lastIndexOf("/");
  return slash < 0 ? 0 : Number(token.slice(slash + 1));
}

/** What programs about scenes of a world can say. */
export class Language {
  constructor(world) {
    this.world = world;
    this.functions = functionsOf(world);
    this.constants = new Map(["TOP", "BOTTOM", "LEFT", "RIGHT"].map((side) => [`Side.${side}`, ["side", side]]));
    this.constants.set("Side.ANY", ["side", null]);
    for (const attribute of world.attributes)
      attribute.choices.forEach(({ name }, rank) => {
        const value = [ofAttribute(attribute), rank];
        this.constants.set(`${attribute.name}.${name}`, value);
        const title = attribute.name[0].toUpperCase() + attribute.name.slice(1);
        this.constants.set(`${title}.${OWN_NAMES[name] ?? name.toUpperCase()}`, value);
      });
  }

  /** The program that tokens describe; throws NoProgram if they describe none. */
  program(tokens) {
    const builder = new Builder(this, tokens);
    const tree = builder.read([]);
    check(builder.at === tokens.length && tree.type === "truth");
    return new Program(this, tree);
  }
}

// ---------------------------------------------------------------- building trees

class Builder {
  constructor(language, tokens) {
    Object.assign(this, { language, tokens, at: 0 });
  }

  /** The next expression; `scope`: the types of the parameters of the lambdas around it. */
  read(scope) {
    check(this.at < this.tokens.length);
    const token = this.tokens[this.at++];
    if (token.startsWith("value ")) return this.value(token.slice(6));
    if (token.startsWith("has ")) return this.has(token.slice(4), scope);
    check(token !== "lambda");
    if (token in COMPARISONS) return this.compared(token, scope);
    const slash = token.lastIndexOf("/");
    if (slash < 0) return this.variable(token, scope);
    return this.apply(token.slice(0, slash), Number(token.slice(slash + 1)), scope);
  }

  /** A comparison of two. No statement compares a value with itself; "if and only if" may join a clause with itself. */
  compared(word, scope) {
    const start = this.at;
    const left = this.read(scope);
    const middle = this.at;
    const right = this.read(scope);
    const isSame = `${this.tokens.slice(start, middle)}` === `${this.tokens.slice(middle, this.at)}`;
    check(!isSame || left.type === "truth");
    return comparison([word], [left, right]);
  }

  value(name) {
    if (/^\d+$/.test(name)) return { kind: "number", type: "number", value: Number(name) };
    check(this.language.constants.has(name));
    const [type, value] = this.language.constants.get(name);
    return { kind: "constant", type, name, value };
  }

  has(name, scope) {
    const attribute = this.language.functions[name.split(".")[0]];
    check(attribute);
    return comparison(["=="], [call(attribute, [this.read(scope)]), this.value(name)]);
  }

  variable(name, scope) {
    const type = GLOBALS[name] ?? scope[Number(/^v(\d+)$/.exec(name)?.[1])];
    check(type !== undefined);
    return { kind: "variable", type, name };
  }

  apply(name, count, scope) {
    const parts = (take = (at) => this.read(scope)) => [...Array(count).keys()].map(take);
    if (name === "and" || name === "or") return logic(name, parts());
    if (name === "{}" || name === "[]=") return display(name === "{}", parts());
    if (name.includes(" ") || name in COMPARISONS) return comparison(name.split(" "), parts());
    const called = this.language.functions[name];
    check(called && count <= called.parameters.length);
    const found = [];
    for (let at = 0; at < count; at++) {
      const isLambda = this.tokens[this.at] === "lambda";
      found.push(called.parameters[at].isMapped && isLambda ? this.lambda(found[0], scope) : this.read(scope));
    }
    return call(called, found);
  }

  lambda(collection, scope) {
    this.at++;
    const takes = member(collection.type);
    check(takes !== null);
    const body = this.read([...scope, takes]);
    return { kind: "lambda", type: { takes, gives: body.type }, name: `v${scope.length}`, takes, body };
  }
}

function call(called, parts) {
  const fewest = called.parameters.filter(({ isOptional }) => !isOptional).length;
  check(fewest <= parts.length && parts.length <= called.parameters.length);
  const types = parts.map(({ type }) => type);
  check(types.every((type, at) => called.parameters[at].accepts(type, types)));
  return { kind: "call", type: called.gives(types), function: called, parts };
}

function comparison(words, parts) {
  check(words.length === parts.length - 1);
  check(words.every((word, at) => word in COMPARISONS && isComparable(parts[at].type, word, parts[at + 1].type)));
  return { kind: "comparison", type: "truth", words, parts };
}

function logic(word, parts) {
  const types = new Set(parts.map(({ type }) => type));
  check(parts.length > 1 && [...types].every(isCondition));
  return { kind: "logic", type: types.size === 1 ? parts[0].type : "truth", word, parts };
}

function display(isSet, parts) {
  check(new Set(parts.map(({ type }) => type)).size === 1);
  return { kind: "display", type: many(parts[0].type), isSet, parts };
}

// ---------------------------------------------------------------- execution

export class Program {
  #run = null;

  constructor(language, tree) {
    this.language = language;
    this.tree = tree;
  }

  /** Whether the statement is true of a scene. If a presupposition fails, it is false. */
  holds(scene) {
    this.#run ??= compile(this.tree);
    try {
      return isTrue(this.#run({ ...place(this.language.world, scene), steps: MAX_STEPS }));
    } catch (error) {
      if (error instanceof Undefined) return false;
      throw error;
    }
  }
}

/** The node as a function of a frame: the values of variables by name, and the remaining steps. */
function compile(node) {
  const codes = node.kind === "lambda" ? [] : (node.parts ?? []).map(compile);
  switch (node.kind) {
    case "number":
    case "constant":
      return () => node.value;
    case "variable":
      return (frame) => frame[node.name];
    case "lambda":
      return lambdaCode(node, compile(node.body));
    case "comparison":
      return chain(node.words.map((word) => COMPARISONS[word]), codes); // prettier-ignore
    case "logic":
      return junction(node, codes);
    case "display":
      return (frame) => {
        const members = codes.map((code) => code(frame));
        return node.isSet ? distinct(members) : members;
      };
  }
  const { value, parameters } = node.function;
  return (frame) =>
    value(...codes.map((code, at) => (parameters[at].isCollected ? collected(code(frame)) : code(frame))));
}

function lambdaCode({ name }, body) {
  return (frame) => (argument) => {
    frame[name] = argument;
    if (--frame.steps < 0) throw new Error("the program takes too many steps on one scene");
    return body(frame);
  };
}

function chain(tests, codes) {
  return (frame) => {
    let left = codes[0](frame);
    return tests.every((test, at) => {
      const right = codes[at + 1](frame);
      const holds = test(left, right);
      left = right;
      return holds;
    });
  };
}

/** `and`, `or`: the value that decided, as in Python. */
function junction({ word, type, parts }, codes) {
  const isPlain = parts.every((part) => part.type === type);
  return (frame) => {
    let value;
    for (const code of codes) {
      value = code(frame);
      if (isTrue(value) === (word === "or")) break;
    }
    return isPlain ? value : isTrue(value);
  };
}
