"""The language of a world: the functions and constants that programs about its scenes can use.

An attribute is a function, `kind(x)` or `x.kind`. Its values are constants: always `kind.jar`, and `jar` if no other
attribute has a value of that name. What is no identifier of Python becomes one: `on-offer` is written `on_offer`. An
attribute that is called like a function, as `count`, is written `count_`.
"""

from __future__ import annotations

import keyword
import unicodedata
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TypeVar

from veriscene.language.expression import GLOBALS, Constant, Expression, Form, Function, Kind, type_of
from veriscene.language.functions import Placing, attribute_function, core_functions
from veriscene.language.program import Program
from veriscene.language.text import parse_expression
from veriscene.world.scene import Side
from veriscene.world.schema import World

T = TypeVar("T")
SIDE = "Side"  # before the names of sides, as in Side.TOP
MAX_COUNT = 999  # the largest number in a program, unless an attribute has larger ones


@dataclass(frozen=True)
class Extension:
    """Says what a world adds to its language: functions, and constants by name."""

    functions: dict[str, Function] = field(default_factory=dict)
    constants: dict[str, Constant] = field(default_factory=dict)


Extend = Callable[[World], Extension]  # a function of a module, so that it can be pickled


class Language:
    """Defines the language of a world. `language_of` makes it once; two languages of one world are equal."""

    def __init__(self, world: World, extend: Extend | None = None) -> None:
        self.world, self.extend = world, extend
        self.place = Placing(world)
        core = core_functions(world)
        more = Extension() if extend is None else extend(world)
        self.reserved = frozenset([*core, *more.functions, *GLOBALS, SIDE])
        self.attributes = _named(world.attributes, lambda attribute: attribute.name, taken=self.reserved)
        own = {name: attribute_function(world, attribute) for name, attribute in self.attributes.items()}
        self.functions = {
            name: replace(function, name=name, language=self)
            for name, function in {**own, **core, **more.functions}.items()
        }
        self.callable, self.methods, self.fields = (
            [name for name, function in self.functions.items() if function.form is form]
            for form in (Form.FUNCTION, Form.METHOD, Form.ATTRIBUTE)
        )
        self.constants = {**self._values(), **_sides(), **more.constants}
        self.namespaces = frozenset(name.partition(".")[0] for name in self.constants if "." in name)
        numeric = [attribute for attribute in world.attributes if attribute.kind == "numeric"]
        self.has_decimals, self.has_signs = bool(numeric), any(each.low < 0 for each in numeric)
        self.max_number = max([MAX_COUNT, *(abs(end) for each in numeric for end in (each.low, each.high))])

    def __eq__(self, other: object) -> bool:
        is_same = isinstance(other, Language) and (self.world, self.extend) == (other.world, other.extend)
        return self is other or is_same

    def __hash__(self) -> int:
        return hash(self.world)

    def __reduce__(self) -> tuple[Callable[..., Language], tuple[World, Extend | None]]:
        return language_of, (self.world, self.extend)

    def parse(self, text: str) -> Program:
        """Returns the program that a text describes; raises InputError, with the place of the mistake."""
        return Program(self.expression(text), self)

    def expression(self, text: str) -> Expression:
        """Like `parse`, for an expression of any type."""
        return parse_expression(text, self)

    def _values(self) -> dict[str, Constant]:
        full: dict[str, Constant] = {}
        short: dict[str, list[Constant]] = {}
        for name, attribute in self.attributes.items():
            for place, value in enumerate(_named(attribute.choices, lambda choice: choice.name)):
                constant = Constant(f"{name}.{value}", type_of(attribute), place)
                full[constant.name] = constant
                short.setdefault(value, []).append(constant)
        unambiguous = {
            name: replace(found[0], name=name)
            for name, found in short.items()
            if len(found) == 1 and name not in self.reserved and name not in self.attributes
        }
        return {**unambiguous, **full}


@lru_cache(maxsize=64)
def language_of(world: World, extend: Extend | None = None) -> Language:
    """Returns the language of a world. The most recent ones are cached."""
    return Language(world, extend)


def identifier(name: str) -> str:
    """Returns a name as it is written in programs: letters of any script, digits and _."""
    text = unicodedata.normalize("NFKC", name)  # as Python does with identifiers
    text = "".join(letter if f"a{letter}".isidentifier() else "_" for letter in text)
    return text if text.isidentifier() and not keyword.iskeyword(text) else f"_{text}"


def _named(things: tuple[T, ...], name: Callable[[T], str], taken: Collection[str] = ()) -> dict[str, T]:
    found: dict[str, T] = {}
    for thing in things:
        written = identifier(name(thing))
        while written in found or written in taken:  # "a-b" and "a b" in one world, or an attribute "count"
            written += "_"
        found[written] = thing
    return found


def _sides() -> dict[str, Constant]:
    """The value of Side.ANY is None: it is the same as giving no side."""
    sides: dict[str, Side | None] = {**{side.name: side for side in Side}, "ANY": None}
    return {f"{SIDE}.{name}": Constant(f"{SIDE}.{name}", Kind.SIDE, side) for name, side in sides.items()}
