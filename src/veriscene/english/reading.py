"""A program in plain words: what a reader understood, as "some box: exactly two yellow items"."""

from __future__ import annotations

from dataclasses import dataclass

from veriscene.english.pattern import with_articles
from veriscene.english.words import NUMBERS, ORDINALS
from veriscene.language.expression import (
    Call,
    Comparison,
    Constant,
    Display,
    Expression,
    Kind,
    Lambda,
    Logic,
    Many,
    Number,
    Variable,
)
from veriscene.language.program import Program
from veriscene.language.text import unparse
from veriscene.world.schema import Attribute, World

_AMOUNTS = {"==": "exactly {}", ">=": "at least {}", ">": "more than {}", "<=": "at most {}", "<": "fewer than {}"}
_FLIPPED = {"==": "==", "!=": "!=", ">=": "<=", "<=": ">=", ">": "<", "<": ">"}
_NEGATED = {"==": "!=", "!=": "==", ">=": "<", "<=": ">", ">": "<=", "<": ">="}
_MORE = {
    ">": "more {} than {}",
    "<": "fewer {} than {}",
    ">=": "at least as many {} as {}",
    "<=": "at most as many {} as {}",
}
_MORE |= {"==": "as many {} as {}", "!=": "not as many {} as {}"}
_RELATIONS = {
    "get_touching": "touching {}",
    "get_closely_touching": "close to {}",
    "get_above": "below {}",
    "get_below": "above {}",
    "get_box_all_above": "below {}",
    "get_box_all_below": "above {}",
    "get_directly_above": "directly below {}",
    "get_directly_below": "directly on {}",
    "get_box_all_left": "to the right of {}",
    "get_box_all_right": "to the left of {}",
    "get_behind": "in front of {}",
    "get_in_front": "behind {}",
}
_MEASURES = {"area": "size", "center_x": "place from the left", "center_y": "place from the top"}
_EXTREMES = {"min": "least", "max": "greatest"}
_PLACES = {
    "is_top": "at the top",
    "is_bottom": "at the bottom",
    "is_leftmost": "farthest left",
    "is_rightmost": "farthest right",
    "is_second": "second from below",
    "is_third": "third from below",
    "is_foreign": "of a kind that does not occur here",
}
_WALLS = {
    "is_touching_wall": "at {} wall",
    "is_closely_touching_wall": "close to {} wall",
    "is_touching_corner": "in {} corner",
    "is_closely_touching_corner": "close to {} corner",
}


def reading_of(program: Program) -> str:
    """Returns a program in plain words."""
    return with_articles(_Describer(program.language.world).truth(program.expression))


@dataclass(frozen=True)
class _Things:
    """A noun with words before and after it."""

    singular: str
    plural: str
    before: str = ""
    after: str = ""

    def __str__(self) -> str:
        return " ".join(f"{self.before} {self.plural} {self.after}".split())

    @property
    def one(self) -> str:
        return " ".join(f"{self.before} {self.singular} {self.after}".split())

    def with_(self, before: str = "", after: str = "", noun: tuple[str, str] | None = None) -> _Things:
        singular, plural = noun or (self.singular, self.plural)
        return _Things(singular, plural, f"{self.before} {before}".strip(), f"{self.after} {after}".strip())


class _Describer:
    def __init__(self, world: World) -> None:
        self.world = world

    # ------------------------------------------------------------ truths

    def truth(self, node: Expression) -> str:
        match node:
            case Call(function, (inner,)) if function.name in ("not", "NOT"):
                return self.negated(inner)
            case Call(function, (members,)) if function.name == "exist":
                return self._quantified("some", "at least one", members)
            case Call(function, (Display((item,), _), Lambda(_, body))) if function.name == "Any":
                return f"{self.term(item)}: {self.condition(body)}"
            case Call(function, (members, Lambda() as test)) if function.name in ("All", "Any"):
                noun = self.things(members)
                return f"{'every' if function.name == 'All' else 'some'} {noun.one}: {self.condition(test.body)}"
            case Comparison((left, right), (sign,)):
                return self._compared(left, sign, right)
            case Comparison((Number(low), counted, Number(high)), ("<=", "<=")):
                return f"{low} to {high} {self._counted(counted)}"
            case Logic(word, operands):
                parts = [f"({self.truth(each)})" if isinstance(each, Logic) else self.truth(each) for each in operands]
                return f" {word} ".join(parts) if word == "or" else ", and ".join(parts)
            case Call(function, (first, second)) if function.name in ("AND", "OR"):
                return f"{self.truth(first)}{', and ' if function.name == 'AND' else ' or '}{self.truth(second)}"
            case Call(function, _) if function.name == "is_tower":
                return "it is a tower"
            case Call(function, (members,)) if function.name.startswith("all_same_"):
                return f"{self.things(members)} have the same {function.name.removeprefix('all_same_')}"
            case Call(function, (members, Lambda(_, Call(of, _)))) if function.name == "all_same_attribute":
                return f"{self.things(members)} have the same {of.name}"
        return self.condition(node)

    def negated(self, node: Expression) -> str:
        match node:
            case Call(function, (members,)) if function.name == "exist":
                return self._none(members)
            case Comparison((left, right), (sign,)) if sign in _NEGATED and sign != "==":
                return self._compared(left, _NEGATED[sign], right)
            case Call(function, (inner,)) if function.name in ("not", "NOT"):
                return self.truth(inner)
        return f"not: {self.truth(node)}"

    def _quantified(self, of_boxes: str, of_items: str, members: Expression) -> str:
        match members:
            case Call(function, (within, Lambda(_, body))) if function.name == "filter_obj" and _is_boxes(within):
                return f"{of_boxes} {self.things(within).one}: {self.truth(body)}"
        return f"{of_items} {self.things(members).one}"

    def _none(self, members: Expression) -> str:
        match members:
            case Call(function, (within, Lambda(_, body))) if function.name == "filter_obj":
                if _is_boxes(within):
                    negative, box = _inside_not(body), self.things(within).one
                    return f"every {box}: {self.truth(negative)}" if negative else f"no {box}: {self.truth(body)}"
                parts = list(body.operands) if isinstance(body, Logic) and body.operator == "and" else [body]
                if (said := _inside_not(parts[-1])) is not None:
                    noun = self._restricted(self.things(within), parts[:-1])
                    return f"every {noun.one} is {self.predicate(said)}"
        return f"no {self.things(members)}"

    def _compared(self, left: Expression, sign: str, right: Expression) -> str:
        if isinstance(left, Number) and not isinstance(right, Number):
            left, sign, right = right, _FLIPPED[sign], left
        if isinstance(right, Number) and _is_count(left) and sign in _AMOUNTS:
            amount = _AMOUNTS[sign].format(_number(right.value))
            return self._amount(amount, left, singular=right.value == 1)
        if isinstance(right, Number) and _is_count(left) and sign == "!=":
            return f"not exactly {_number(right.value)} {self._counted(left)}"
        if _is_count(left) and _is_count(right) and sign in _MORE:
            return _MORE[sign].format(self._counted(left), self._counted(right))
        words = {"==": "is", "!=": "is not", "in": "is among", "not in": "is not among"}
        words |= {">": "is more than", "<": "is less than", ">=": "is at least", "<=": "is at most"}
        return f"{self.term(left)} {words.get(sign, sign)} {self.term(right)}"

    def _amount(self, amount: str, counted: Expression, *, singular: bool) -> str:
        assert isinstance(counted, Call)
        match counted.arguments[0]:
            case Call(function, (within, Lambda(_, body))) if function.name == "filter_obj" and _is_boxes(within):
                noun = self.things(within)
                return f"{amount} {noun.one if singular else noun}: {self.truth(body)}"
        noun = self.things(counted.arguments[0])
        return f"{amount} {noun.one if singular else noun}"

    def _counted(self, counted: Expression) -> str:
        return str(self.things(counted.arguments[0])) if isinstance(counted, Call) else self.term(counted)

    # ------------------------------------------------------------ sets

    def things(self, node: Expression) -> _Things:
        """A set as a noun."""
        item, box = self.world.item, self.world.box
        match node:
            case Variable(name, type):
                noun = box if name == "all_boxes" else item
                return _Things(noun.singular, noun.plural, after="" if type is not Kind.ITEM else "like it")
            case Call(function, (within, Lambda(_, body))) if function.name == "filter_obj":
                parts = list(body.operands) if isinstance(body, Logic) and body.operator == "and" else [body]
                return self._restricted(self.things(within), parts)
            case Call(function, (within, Constant() as value)) if function.name.startswith("filter_"):
                return self.things(within).with_(before=value.name.rpartition(".")[2].lower())
            case Call(function, (_, _)) if function.name == "[]":
                return _Things(item.singular, item.plural, after=f"in {self.term(node)}")
            case Call(function, (within,)) if function.name == "last":
                return _Things(item.singular, item.plural, after=f"in {self.term(node)}")
            case Call(function, (_,)) if function.name in _RELATIONS:
                return _Things(
                    item.singular, item.plural, after=f"such that it is {self._related(function.name, 'it')}"
                )
            case Call(function, (within,)) if function.name == "all_items_in_box":
                return self.things(within)
            case Call(function, (within,)) if node.type == Many(Kind.ITEM) or isinstance(node.type, Many):
                return _Things(f"{function.name} of {self.things(within)}", f"{function.name} of {self.things(within)}")
        return _Things(unparse(node), unparse(node))

    def _restricted(self, noun: _Things, parts: list[Expression]) -> _Things:
        for part in parts:
            match part:
                case Comparison((Call(function, (Variable(),)), Constant() as value), ("==",)) if (
                    function.name in self._attributes
                ):
                    attribute = self._attributes[function.name]
                    choice = attribute.choices[value.value]
                    if attribute.is_noun:
                        plural = choice.plural[0] if choice.plural else f"{choice.word}s"
                        noun = noun.with_(noun=(choice.word, plural))
                    elif " " in choice.word:
                        noun = noun.with_(after=choice.word)
                    else:
                        noun = noun.with_(before=choice.word)
                case _:
                    noun = noun.with_(after=self.predicate(part))
        return noun

    @property
    def _attributes(self) -> dict[str, Attribute]:
        return {attribute.name: attribute for attribute in self.world.attributes}

    # ------------------------------------------------------------ conditions on an item

    def predicate(self, node: Expression) -> str:
        """What is said of an item after its noun, or after "is"."""
        match node:
            case Comparison((Call(function, (Variable(),)), Constant() as value), (sign,)) if (
                function.name in self._attributes and sign in ("==", "!=")
            ):
                attribute = self._attributes[function.name]
                word = attribute.choices[value.value].word
                return f"{'not ' if sign == '!=' else ''}{f'a {word}' if attribute.is_noun else word}"
            case Call(function, (inner,)) if function.name in ("not", "NOT"):
                return f"not {self.predicate(inner)}"
            case Call(function, (Variable(),)) if function.name in _PLACES:
                return _PLACES[function.name]
            case Call(function, (Variable(), *sides)) if function.name in _WALLS:
                side = sides[0].value if sides and isinstance(sides[0], Constant) else None
                return _WALLS[function.name].format("a" if side is None else f"the {side.name.lower()}")
            case Call(function, (Call(inner, (set_, Lambda(_, body))),)) if (
                function.name == "exist" and inner.name == "filter_obj"
            ):
                if isinstance(set_, Call) and set_.function.name in _RELATIONS:
                    parts = list(body.operands) if isinstance(body, Logic) and body.operator == "and" else [body]
                    noun = self._restricted(_Things(self.world.item.singular, self.world.item.plural), parts)
                    return self._related(set_.function.name, f"a {noun.one}")
            case Call(function, (Call(inner, _),)) if function.name == "exist" and inner.name in _RELATIONS:
                return self._related(inner.name, f"a {self.world.item.singular}")
            case Comparison((Call(function, _), right), ("==",)) if function.name == "box":
                return f"in {self.term(right)}"
            case Logic(word, operands):
                return f" {word} ".join(map(self.predicate, operands))
        return f"where {self.truth(node)}"

    def condition(self, node: Expression) -> str:
        match node:
            case Call(function, (Variable(), *_)) if function.name in _PLACES or function.name in _WALLS:
                return f"it is {self.predicate(node)}"
            case Comparison((Call(function, (Variable(),)), Constant()), ("==" | "!=",)) if (
                function.name in self._attributes
            ):
                return f"it is {self.predicate(node)}"
            case Logic():
                return self.truth(node)
            case Call(function, (Call(),)) if function.name in ("exist", "not", "NOT"):
                return self.truth(node)
        return unparse(node)

    def _related(self, name: str, other: str) -> str:
        return _RELATIONS[name].format(other)

    # ------------------------------------------------------------ single values

    def term(self, node: Expression) -> str:
        match node:
            case Call(function, (Variable("all_boxes"), Number(at))) if function.name == "[]":
                return f"the {self._which(int(at))} {self.world.box.singular}"
            case Call(function, (Variable("all_boxes"),)) if function.name == "last":
                return f"the last {self.world.box.singular}"
            case Call(function, (inner,)) if function.name == "unique":
                return f"the only {self.things(inner).one}"
            case Call(function, (inner,)) if function.name in ("count", "len"):
                return f"the number of {self.things(inner)}"
            case Call(function, (inner,)) if function.name in self._attributes or function.name in _MEASURES:
                return f"the {_MEASURES.get(function.name, function.name)} of {self.term(inner)}"
            case Call(function, (Call(_, (_,)) as of,)) if function.name in _EXTREMES:
                return f"the {_EXTREMES[function.name]} of {self.term(of)}"
            case Call(function, (members, Lambda(_, Call() as key))) if function.name in _EXTREMES:
                return f"the {self.things(members).one} with the {_EXTREMES[function.name]} {self._key(key)}"
            case Call(function, (first, second)) if function.name == "distance":
                return f"the distance of {self.term(first)} from {self.term(second)}"
            case Call(function, (left, right)) if function.name == "*":
                return f"{self.term(right)} times {self.term(left)}"
            case Call(function, (left, right)) if function.name == "+":
                return f"{self.term(left)} plus {self.term(right)}"
            case Constant(name):
                return name.rpartition(".")[2].lower()
            case Number(value):
                return _number(value)
            case Variable(_, Kind.ITEM):
                return "it"
            case Call(function, (Variable(),)) if function.name == "box":
                return f"its {self.world.box.singular}"
        return str(self.things(node)) if isinstance(node.type, Many) else unparse(node)

    def _key(self, key: Call) -> str:
        if key.function.name == "distance":
            return f"distance from {self.term(key.arguments[1])}"
        return _MEASURES.get(key.function.name, key.function.name)

    def _which(self, at: int) -> str:
        low, high = self.world.boxes
        if low == high == 3:
            return ("left", "middle", "right")[at] if at < 3 else ORDINALS[at + 1]
        return ORDINALS[at + 1] if at + 1 < len(ORDINALS) else f"{at + 1}th"


def _is_boxes(node: Expression) -> bool:
    return node.type == Many(Kind.BOX)


def _is_count(node: Expression) -> bool:
    return isinstance(node, Call) and node.function.name in ("count", "len")


def _inside_not(node: Expression) -> Expression | None:
    return node.arguments[0] if isinstance(node, Call) and node.function.name in ("not", "NOT") else None


def _number(value: float) -> str:
    return NUMBERS[int(value)] if value == int(value) and 0 <= value < len(NUMBERS) else f"{value:g}"
