"""A program in plain words: what a reader understood, as "some box: exactly two yellow items".

The page without a server has the same in JavaScript (service/page/local/describe.js), which tests compare.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from veriscene.english.pattern import with_articles
from veriscene.english.tables import tables
from veriscene.english.words import NUMBERS, ORDINALS
from veriscene.language.expression import (
    GLOBALS,
    AttributeType,
    Call,
    Comparison,
    Constant,
    Display,
    Expression,
    Function,
    Kind,
    Lambda,
    Logic,
    Many,
    Number,
    Type,
    Variable,
)
from veriscene.language.program import Program
from veriscene.language.text import unparse
from veriscene.language.tokens import program_of, tokens_of
from veriscene.world.schema import Attribute, World

_FLIPPED = {"==": "==", "!=": "!=", ">=": "<=", "<=": ">=", ">": "<", "<": ">"}
_NEGATED = {"==": "!=", "!=": "==", ">=": "<", "<=": ">", ">": "<=", "<": ">="}
_COUNTS = ("count", "len")
_WORDS = {
    name: {row.columns[0]: [each.strip('"') for each in row.wordings] for _, row in table.rows}
    for name, table in tables(__name__).items()
}
_RELATIONS, _OTHERS, _PLACES = _WORDS["relations"], _WORDS["others"], _WORDS["places"]
_AMOUNTS, _MORE, _IS, _MEASURES, _EXTREMES, _WALLS = (
    {name: words for name, (words,) in _WORDS[table].items()}
    for table in ("amounts", "more", "is", "measures", "extremes", "walls")
)
_OTHER, _ORDERED, _VALUE, _PLACE = range(4)  # ranks of adjectives: "other large blue topmost items"
_ADJECTIVE = re.compile(r"(not (a )?|a )\S+")  # a phrase that follows a noun as "that is …" only
_REACHING = re.compile(r" (where|that) | a .* a ")  # in a phrase: what follows could be said of a noun in it
_ALL_ITEMS = Variable("all_items", GLOBALS["all_items"])
_NAMED, _LETTERS = (Kind.ITEM, Kind.BOX), "XYZUVW"  # items and boxes are told apart by letters


def reading_of(program: Program) -> str:
    """Returns a program in plain words; those that differ in notation alone have the same."""
    plain = program_of(tokens_of(program), program.language)
    return with_articles(_Describer(program.language.world).truth(plain.expression))


@dataclass(frozen=True)
class _Things:
    """A noun with adjectives, each with its rank, and the phrases after it."""

    singular: str
    plural: str
    before: tuple[tuple[int, str], ...] = ()
    after: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self._said(self.plural, "are")

    @property
    def one(self) -> str:
        return self._said(self.singular, "is")

    def _said(self, noun: str, verb: str) -> str:
        after = ""
        for at, phrase in enumerate(self.after, 1):
            # What follows another noun would be said of that one.
            link = " and" if re.search(r"where |that ~is| a ", after) else ""
            if "that ~is" in after and not phrase.startswith(("that ~is", "where ")):
                phrase = f"that ~is {phrase}"
            after += f"{link} ({phrase})" if at < len(self.after) and _REACHING.search(phrase) else f"{link} {phrase}"
        return " ".join([*(word for _, word in sorted(set(self.before))), noun]) + after.replace("~is", verb)

    def with_(self, before: str = "", after: str = "", rank: int = _OTHER) -> _Things:
        phrases = (after,) if after and after not in self.after else ()
        adjectives = ((rank, before),) if before else ()
        return replace(self, before=self.before + adjectives, after=self.after + phrases)


class _Describer:
    def __init__(self, world: World) -> None:
        self.world = world
        self.attributes: dict[str, Attribute] = {attribute.name: attribute for attribute in world.attributes}
        self.letters: dict[str, str] = {}  # of the parameters around a node; "" if a pronoun is clear enough
        self.in_boxes, self.in_towers = set[int](), set[int]()  # nodes in what is said of a box, and of a tower

    # ------------------------------------------------------------ truths

    def truth(self, node: Expression) -> str:
        """What holds, as a clause."""
        if found := self.said(node):
            return f"{self.term(found[0])} is {found[1]}"
        match node:
            case Call(function, (inner,)) if function.name == "not":
                return self.negated(inner)
            case Call(function, (members,)) if function.name in ("exist", *_COUNTS):
                return self.existing(members)
            case Call(function, (Display(members), Lambda() as test)) if function.name in ("All", "Any"):
                of = "" if len(members) == 1 else "each of " if function.name == "All" else "one of "
                self.enter(test)
                return f"{of}{self.listed(members)}: {self.truth(test.body)}"
            case Call(function, (members, Lambda() as test)) if function.name in ("All", "Any"):
                said = self.each("every" if function.name == "All" else "some", members, test, [], test.body)
                return f"{said} (and there is one)" if _is_of_some(node) else said
            case Comparison(operands, signs) if len(signs) > 1:
                if signs == ("<=", "<=") and isinstance(operands[0], Number) and isinstance(operands[2], Number):
                    return f"{self.term(operands[0])} to {self.term(operands[2])} {self.counted(operands[1])}"
                steps = zip(operands, signs, operands[1:], strict=False)
                return ", and ".join(self.compared(*step) for step in steps)
            case Comparison((left, right), (sign,)):
                return self.compared(left, sign, right)
            case Logic(word, operands):
                return self.joined(word, operands)
            case Call(function, (members,)) if function.name == "all_same":
                return f"{self.term(members)} are alike"
            case Call(function, (members,)) if function.name.startswith("all_same_"):
                return f"{self.things(members)} have the same {function.name.removeprefix('all_same_')}"
            case Call(Function(name="all_same_attribute"), (members, Lambda(_, Call(of, (counted,))) as test)):
                noun = self.noun(members, test, [])
                same = f"equally many {self.things(counted)}" if of.name in _COUNTS else f"the same {self._measure(of)}"
                return f"all {noun} have {same}"
            case Call(function, (left, right)) if function.name in ("contained", "member_of"):
                return f"{self.term(left)} {'are' if function.name == 'contained' else 'is'} among {self.term(right)}"
            case Call(function, (left, right)) if function.name.partition("_")[0] == "equal":
                return self.equal(left, right)
        return self.existing(node) if isinstance(node.type, Many) else unparse(node)

    def joined(self, word: str, parts: Sequence[Expression]) -> str:
        """What follows a colon reaches as far as it can, so a clause with one is the last or in parentheses."""
        said = [self.truth(each) for each in parts]
        for at, each in enumerate(parts):
            if len(parts) > 1 and (isinstance(each, Logic) or (": " in said[at] and each is not parts[-1])):
                said[at] = f"({said[at]})"
        return (" or " if word == "or" else ", and ").join(said)

    def negated(self, node: Expression) -> str:
        match node:
            case Call(function, (members,)) if function.name == "exist":
                return self.none(members)
            case Comparison((left, right), (sign,)) if sign in _NEGATED and sign != "==":
                return self.compared(left, _NEGATED[sign], right)
            case Call(function, (inner,)) if function.name == "not":
                return self.truth(inner)
        is_compound = isinstance(node, Logic) or _is_of_some(node)
        return f"not: ({self.truth(node)})" if is_compound else f"not: {self.truth(node)}"

    def none(self, members: Expression) -> str:
        match members:
            case Call(function, (within, Lambda() as test)) if function.name == "filter_obj":
                *conditions, last = _conjuncts(test.body)
                if (denied := _inside_not(last)) and (not _has_parts(within) or all(map(_is_unlike, conditions))):
                    return self.each("every", within, test, conditions, denied)
        return self.amount("no", members, singular=_has_parts(members))

    def each(self, word: str, within: Expression, test: Lambda, of: Sequence[Expression], body: Expression) -> str:
        noun = self.noun(within, test, of)
        phrase = None if _has_parts(within) else self.phrase(body, test.parameter.name)
        return f"{word} {noun.one}" + (f": {self.truth(body)}" if phrase is None else f" is {phrase}")

    def amount(self, amount: str, members: Expression, *, singular: bool) -> str:
        """So many items, or so many boxes and what is said of them."""
        match members:
            case Call(function, (within, Lambda() as test)) if function.name == "filter_obj" and _has_parts(within):
                parts = _conjuncts(test.body)
                noun = self.noun(within, test, [each for each in parts if _is_unlike(each)])
                rest = [each for each in parts if not _is_unlike(each)]
                said = f": {self.joined('and', rest)}" if rest else ""
                return f"{amount} {noun.one if singular else noun}{said}"
        noun = self.things(members)
        return f"{amount} {noun.one if singular else noun}"

    def existing(self, members: Expression) -> str:
        some = _calls(members, "filter_obj") and _has_parts(members)
        return self.amount("some" if some else "at least one", members, singular=True)

    def compared(self, left: Expression, sign: str, right: Expression) -> str:
        if isinstance(left, Number) and not isinstance(right, Number):
            left, sign, right = right, _FLIPPED[sign], left
        match left, right:
            case Call(function, (counted,)), Number(value) if function.name in _COUNTS:
                number = _number(value)
                if sign == "!=":
                    return f"not exactly {number} {self.counted(left)}"
                if sign == "==" and value == 0:
                    return self.none(counted)
                return self.amount(_AMOUNTS[sign].format(number), counted, singular=value == 1)
            case Call(function, (divided, Number(2))), Number(0 | 1 as rest) if function.name == "%" and sign == "==":
                return f"{self.term(divided)} is {'odd' if rest else 'even'}"
        if _is_count(left) and _is_count(right):
            return _MORE[sign].format(self.counted(left), self.counted(right))
        if left.type is right.type is Kind.TRUTH:
            both = self.truth(left), self.truth(right)
            return " exactly if ".join(both) if sign == "==" else f"either {' or '.join(both)}, but not both"
        if sign in ("==", "!=") and (same := self.in_common(left, right)):
            return same if sign == "==" else f"not: {same}"
        return f"{self.term(left)} {_IS[sign]} {self.term(right)}"

    def equal(self, left: Expression, right: Expression) -> str:
        if left.type is Kind.NUMBER:
            return self.compared(left, "==", right)
        return self.in_common(left, right) or f"{self.term(left)} are exactly {self.term(right)}"

    def in_common(self, left: Expression, right: Expression) -> str:
        """That two items have the same value of an attribute; "" if something else is compared."""
        match left, right:
            case Call(of, (one,)), Call(other, (another,)) if of == other and one.type is another.type is Kind.ITEM:
                return f"{self.term(one)} and {self.term(another)} have the same {of.name.removeprefix('query_')}"
        return ""

    def counted(self, node: Expression) -> str:
        return str(self.things(node.arguments[0])) if isinstance(node, Call) and _is_count(node) else self.term(node)

    # ------------------------------------------------------------ sets

    def things(self, node: Expression) -> _Things:
        """A set as a noun."""
        item, box = self.world.item, self.world.box
        items = _Things(item.singular, item.plural)
        match node:
            case Variable("all_boxes"):
                return _Things(box.singular, box.plural)
            case Variable("all_items"):
                return items.with_(after="in the scene" if id(node) in self.in_boxes else "")
            case Variable(name, Kind.BOX):
                return items.with_(after=f"in {self.letters[name]}" if self.letters.get(name) else "")
            case Call() if node.type is Kind.BOX:
                return items.with_(after=f"in {self.term(node)}")
            case Call(function, (within, Lambda() as test)) if function.name == "filter_obj":
                return self.noun(within, test, _conjuncts(test.body))
            case Call(function, (within, value)) if function.name.startswith("filter_"):
                noun = self.things(within)
                if not isinstance(value, Constant):
                    return noun.with_(after=f"of {self.term(value)}")
                return _valued(noun, self.attributes[function.name.removeprefix("filter_")], value)
            case Call(function, (one,)) if function.name in _RELATIONS:
                return items.with_(after=f"{_RELATIONS[function.name][1]} {self.term(one)}")
            case Call(function, (_,)) if function.name in _OTHERS:
                before, after = _OTHERS[function.name]
                return items.with_(before, after.format(box.singular))
            case Call(function, (Call(of, (within,)),)) if function.name == "set" and of.name in self.attributes:
                return self.values(of.name, within, different=True)
            case Call(function, (within,)) if function.name in ("set", "all_items_in_box"):
                return self.things(within)
            case Call(function, (within,)) if function.name.startswith("get_set_"):
                return self.values(function.name.removeprefix("get_set_").removesuffix("s"), within, different=True)
            case Call(of, (within,)) if (name := of.name.removeprefix("query_")) in (*self.attributes, "area"):
                return self.values(_MEASURES.get(name, name), within, different=False)
            case Call(function, (one, other)) if function.name == "union":
                first, second = self.things(one), self.things(other)
                return _Things(f"{first.one} or {second.one}", f"{first} or {second}")
            case Call(function, (one, other)) if function.name == "intersect":
                return self.things(one).with_(after=f"that ~is also among {self.things(other)}")
            case Call(function, (within, Number(size))) if function.name == "combinations":
                group, several = ("pair", "of") if size == 2 else ("group", f"of {_number(size)}")
                return _Things(group, f"{group}s", after=(f"{several} {self.things(within)}",))
            case Display(members):
                return _Things(self.listed(members), self.listed(members))
            case Variable(_, Many()):
                return _Things("one of them", "of them")
        return _Things(unparse(node), unparse(node))

    def values(self, attribute: str, within: Expression, *, different: bool) -> _Things:
        of = f"{'in' if within.type is Kind.BOX else 'of'} {self.term(within)}"
        return _Things(f"{attribute} {of}", f"{'different ' if different else ''}{attribute}s {of}")

    def noun(self, within: Expression, test: Lambda, conditions: Sequence[Expression]) -> _Things:
        """The members that meet the conditions; from here on its parameter has a name."""
        noun, own = self.things(within), test.parameter.name
        letter = self.enter(test)
        for each in conditions:
            match each:
                case Comparison((Call(of, (Variable(name),)), Constant() as value), ("==",)) if (
                    name == own and of.name in self.attributes
                ):
                    noun = _valued(noun, self.attributes[of.name], value)
                case _:
                    phrase = self.phrase(each, own) or f"where {self.truth(each)}"
                    is_either = isinstance(each, Logic) and not phrase.startswith("where ")
                    that = "that ~is " if is_either or _ADJECTIVE.fullmatch(phrase) else ""
                    noun = noun.with_(after=that + phrase) if " " in phrase else noun.with_(phrase, rank=_PLACE)
        if not letter or noun.singular.endswith(f" {letter}"):
            return noun
        return replace(noun, singular=f"{noun.singular} {letter}", plural=f"{noun.plural} {letter}")

    def enter(self, test: Lambda) -> str:
        """Gives a parameter a letter, if two of its kind are told apart within its lambda; returns it."""
        own, kind, outside, nodes = test.parameter.name, test.parameter.type, _free(test), list(_nodes(test.body))
        self.in_boxes.update(map(id, nodes if kind is Kind.BOX else ()))
        if any(_calls(each, "is_tower") for each in nodes):
            self.in_towers.update(map(id, nodes))
        taken = [self.letters[name] for name in outside if self.letters.get(name)]
        lambdas = [each for each in nodes if isinstance(each, Lambda) and each.parameter.type == kind]
        is_told_apart = any(own in _free(each) for each in lambdas)
        is_told_apart |= any(outside[name] == kind for name in outside if self.letters.get(name))
        next_letter = _LETTERS[1 + max(map(_LETTERS.find, taken), default=-1) :][:1]
        letter = next_letter if is_told_apart and kind in _NAMED else ""
        self.letters[own] = letter or ("it" if kind is Kind.BOX and _ALL_ITEMS in nodes else "")  # and not the scene
        return letter

    # ------------------------------------------------------------ what is said of one item or box

    def said(self, node: Expression) -> tuple[Expression, str] | None:
        """The item or box of which a condition speaks, and what follows "is"; None for other conditions."""
        match node:
            case Call(function, (inner,)) if function.name == "not" and not isinstance(inner, Logic):
                found = self.said(inner)
                return found and (found[0], _denied(found[1]))
            case Logic(word, parts):
                clauses = [clause for each in parts if (clause := self.said(each))]
                if len(clauses) < len(parts) or any(clause[0] != clauses[0][0] for clause in clauses):
                    return None
                said = [f"({it})" if isinstance(of, Logic) else it for of, (_, it) in zip(parts, clauses, strict=True)]
                return clauses[0][0], f" {word} ".join(said)
            case Comparison((Call(function, (one,)), Constant(_, _, rank)), ("==" | "!=" as sign,)) if (
                function.name in self.attributes and one.type is Kind.ITEM
            ):
                attribute = self.attributes[function.name]
                word = f"{'a ' if attribute.is_noun else ''}{attribute.choices[rank].word}"
                return one, word if sign == "==" else _denied(word)
            case Comparison((Call(function, (one,)), right), ("==" | "!=" as sign,)) if function.name == "box":
                return one, f"{'not ' if sign == '!=' else ''}in {self.term(right)}"
            case Comparison((Variable(_, Kind.ITEM | Kind.BOX) as one, right), ("!=",)):
                return one, f"other than {self.term(right)}"
            case Call(function, (one,)) if function.name in _PLACES:
                return one, _PLACES[function.name][-1 if id(node) in self.in_towers else 0]
            case Call(function, (one, *sides)) if function.name in _WALLS:
                side = sides[0].value if sides and isinstance(sides[0], Constant) else None
                return one, _WALLS[function.name].format("a" if side is None else f"the {side.name.lower()}")
            case Call(function, (one, other)) if function.name == "is_closely_touching":
                return one, f"close to {self.term(other)}"
            case Call(function, (Call(of, (one,)),)) if function.name == "is_tower" and of.name == "box":
                return one, "in a tower"
            case Call(function, (one,)) if function.name == "is_tower":
                return one, "a tower"
            case Call(function, (Call(relation, (one,)),)) if function.name == "exist" and relation.name in _RELATIONS:
                return one, f"{_RELATIONS[relation.name][0]} a {self.world.item.singular}"
            case Call(Function(name="exist"), (Call(_, (Call(of, (one,)), Lambda() as test)),)) if (
                of.name in _RELATIONS
            ):
                noun = self.noun(_ALL_ITEMS, test, _conjuncts(test.body))
                return one, f"{_RELATIONS[of.name][0]} a {noun.one}"
        return None

    def phrase(self, node: Expression, own: str) -> str | None:
        """What follows "is" in a condition on a parameter."""
        found = self.said(node)
        return found[1] if found and isinstance(found[0], Variable) and found[0].name == own else None

    # ------------------------------------------------------------ single values

    def term(self, node: Expression) -> str:
        match node:
            case Variable(name, Kind.ITEM | Kind.BOX):
                return self.letters.get(name) or "it"
            case Variable(name, Many()):
                return str(self.things(node)) if name in GLOBALS else "them"
            case Variable(_, AttributeType(attribute)):
                return f"that {attribute}"
            case Call(function, (Variable("all_boxes"), Number(at))) if function.name == "[]":
                return f"the {self._which(int(at))} {self.world.box.singular}"
            case Call(function, (Variable(_, Many()), Number(at))) if function.name == "[]":
                return f"the {_ordinal(int(at))} of them"
            case Call(function, (Variable("all_boxes"),)) if function.name == "last":
                return f"the last {self.world.box.singular}"
            case Call(function, (inner,)) if function.name == "unique":
                return f"the only {self.things(inner).one}"
            case Call(function, (inner,)) if function.name in _COUNTS:
                return f"the number of {self.things(inner)}"
            case Call(function, (Call(of, (members,)),)) if function.name in _EXTREMES:
                return f"the {_EXTREMES[function.name]} {self._measure(of)} of {self.things(members)}"
            case Call(function, (members, Lambda(_, Call() as key) as test)) if function.name in _EXTREMES:
                self.enter(test)
                extreme = f"{_EXTREMES[function.name]} {self._key(key)}"
                if key.function.name in _COUNTS:
                    extreme = f"{'most' if function.name == 'max' else 'fewest'} {self.things(key.arguments[0])}"
                return f"the {self.things(members).one} with the {extreme}"
            case Call(function, (members, Lambda(_, Call() as key) as test)) if function.name == "sum":
                self.enter(test)
                return f"the total {self._key(key)} of {self.things(members)}"
            case Call(function, (inner,)) if inner.type is Kind.ITEM and not isinstance(node.type, Many):
                owner, measure = self.term(inner), self._measure(function)
                return f"its {measure}" if owner == "it" else f"the {measure} of {owner}"
            case Call(function, (first, second)) if function.name == "distance":
                return f"the distance of {self.term(first)} from {self.term(second)}"
            case Call(function, (left, right)) if function.name == "*":
                return self._times(self.term(right), left)
            case Call(function, (left, right)) if function.name == "+":
                added = _added(node)
                if _is_count(right) and added == [right] * len(added):
                    return self._times(_number(len(added)), right)
                return f"{self.term(left)} plus {self.term(right)}"
            case Constant(name):
                return name.rpartition(".")[2].lower()
            case Number(value):
                return _number(value)
        return str(self.things(node)) if isinstance(node.type, Many) else unparse(node)

    def listed(self, members: Sequence[Expression]) -> str:
        return " and ".join(map(self.term, members))

    def _times(self, number: str, node: Expression) -> str:
        said = f"({self.term(node)})" if len(_added(node)) > 1 else self.term(node)
        return f"{'twice' if number == 'two' else f'{number} times'} {said}"

    def _measure(self, function: Function) -> str:
        return self.world.box.singular if function.name == "box" else _MEASURES.get(function.name, function.name)

    def _key(self, key: Call) -> str:
        return (
            f"distance from {self.term(key.arguments[1])}" if _calls(key, "distance") else self._measure(key.function)
        )

    def _which(self, at: int) -> str:
        return ("left", "middle", "right")[at] if self.world.boxes == (3, 3) and at < 3 else _ordinal(at)


def _ordinal(at: int) -> str:
    return ORDINALS[at + 1] if at + 1 < len(ORDINALS) else f"{at + 1}th"


def _conjuncts(body: Expression) -> tuple[Expression, ...]:
    return body.operands if isinstance(body, Logic) and body.operator == "and" else (body,)


def _has_parts(node: Expression) -> bool:
    """Whether the members are boxes or sets, of which more can be said than fits into a noun."""
    return isinstance(node.type, Many) and (node.type.of is Kind.BOX or isinstance(node.type.of, Many))


def _is_of_some(node: Expression) -> bool:
    """Says whether a node is All of a kind of which there may be none, as it is false then, unlike "every" in a program
    of `not` and `exist`."""
    match node:
        case Call(Function(name="All"), (Call(Function(name="filter_obj"), (_, Lambda() as test)), Lambda())):
            return not all(map(_is_unlike, _conjuncts(test.body)))
    return False


def _is_unlike(node: Expression) -> bool:
    return isinstance(node, Comparison) and node.operators == ("!=",) and node.operands[0].type is Kind.BOX


def _calls(node: Expression, *names: str) -> bool:
    return isinstance(node, Call) and node.function.name in names


def _is_count(node: Expression) -> bool:
    return _calls(node, *_COUNTS)


def _inside_not(node: Expression) -> Expression | None:
    return _parts(node)[0] if _calls(node, "not") else None


def _valued(noun: _Things, attribute: Attribute, value: Constant) -> _Things:
    """The noun for those with a value: "circles", "blue items", "items on offer"."""
    choice = attribute.choices[value.value]
    if attribute.is_noun:
        plural = choice.plural[0] if choice.plural else f"{choice.word}s"
        return replace(noun, singular=choice.word, plural=plural)
    rank = _ORDERED if attribute.kind == "ordered" else _VALUE
    return noun.with_(after=choice.word) if " " in choice.word else noun.with_(choice.word, rank=rank)


def _added(node: Expression) -> list[Expression]:
    return [part for each in _parts(node) for part in _added(each)] if _calls(node, "+") else [node]


def _parts(node: Expression) -> Sequence[Expression]:
    match node:
        case Call(_, parts) | Comparison(parts) | Logic(_, parts) | Display(parts):
            return parts
        case Lambda(_, body):
            return (body,)
    return ()


def _nodes(node: Expression) -> Iterator[Expression]:
    """Yields a node and all within it."""
    yield node
    for each in _parts(node):
        yield from _nodes(each)


def _free(node: Expression) -> dict[str, Type]:
    """Returns the parameters that a node uses and does not bind, with their types."""
    if isinstance(node, Variable):
        return {} if node.name in GLOBALS else {node.name: node.type}
    found = {name: type for each in _parts(node) for name, type in _free(each).items()}
    if isinstance(node, Lambda):
        found.pop(node.parameter.name, None)
    return found


def _number(value: float) -> str:
    return NUMBERS[int(value)] if value == int(value) and 0 <= value < len(NUMBERS) else f"{value:g}"


def _denied(phrase: str) -> str:
    """What is not so: "not black", and "on offer" of a value that is said as "not on offer"."""
    return phrase.removeprefix("not ") if phrase.startswith("not ") else f"not {phrase}"
