// Types of programs, as in the package's language/expression.py: item, box, number, truth, side, "@NAME" for the values
// of an attribute ("<NAME" if they are ordered), and "[]" before the type of a collection's members. A function of one
// argument is an object {takes, gives}.

export const many = (type) => `[]${type}`;
export const isMany = (type) => typeof type === "string" && type.startsWith("[]");
export const ofAttribute = ({ name, kind }) =>
  kind === "numeric" ? "number" : `${kind === "ordered" ? "<" : "@"}${name}`;

/** The type of a collection's members; null for single values. A box counts as the set of its items. */
export const member = (type) => (isMany(type) ? type.slice(2) : type === "box" ? "item" : null);
/** The same, but a single value counts as a set of one. */
export const element = (type) => member(type) ?? type;
export const isCondition = (type) => type === "truth" || type === "number" || isMany(type);
export const isOrdered = (type) => type === "number" || (typeof type === "string" && type.startsWith("<"));

/** Whether `left word right` has a truth value. */
export function isComparable(left, word, right) {
  if (word === "in" || word === "not in") return member(right) === left;
  if (word !== "==" && word !== "!=") return left === right && isOrdered(left);
  if (isMany(left) || isMany(right)) return member(left) === member(right);
  return left === right || [left, right].sort().join() === "number,truth";
}

// ---------------------------------------------------------------- parameters of functions

const isSet = (type) => member(type) !== null;
const one = (wanted) => ({ accepts: (type) => type === wanted });
const some = (accepts) => ({ accepts, isCollected: true });
const mapped = (accepts) => ({
  accepts: (type, all) => typeof type === "object" && type.takes === member(all[0]) && accepts(type.gives),
  isMapped: true,
});

export const takes = {
  one,
  oneOrMore: (wanted) => some((type) => element(type) === wanted),
  item: one("item"),
  box: one("box"),
  number: one("number"),
  stop: { ...one("number"), isOptional: true },
  side: { ...one("side"), isOptional: true },
  itemOrItems: some((type) => element(type) === "item"),
  numbers: some((type) => element(type) === "number"),
  condition: { accepts: isCondition },
  numberOrSet: { accepts: (type) => type === "number" || isSet(type) },
  anything: some(() => true),
  member: { accepts: () => true },
  likeFirst: some((type, all) => element(type) === element(all[0])),
  addend: {
    accepts: (type, all) => member(type) === member(all[0]) && (type === "number") === (all[0] === "number"),
  },
  set: some(isSet),
  setOfFirst: some((type, all) => member(type) === all[0]),
  setLikeFirst: some((type, all) => member(type) === member(all[0])),
  items: some((type) => member(type) === "item"),
  truths: some((type) => isSet(type) && !/^[@<]/.test(member(type))),
  orderedOrKeyed: some((type, all) => isSet(type) && (all.length === 2 || isOrdered(element(type)))),
  test: mapped(isCondition),
  each: mapped(() => true),
  key: { ...mapped(isOrdered), isOptional: true, isKey: true },
};

export const gives = {
  truth: () => "truth",
  number: () => "number",
  items: () => many("item"),
  always: (type) => () => type,
  member: ([first]) => member(first),
  set: ([first]) => many(member(first)),
  subsets: ([first]) => many(many(member(first))),
};
