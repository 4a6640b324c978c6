"""The words for a world: those of its file, general ones for boxes and items, and words for what it lacks."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from veriscene.language.language import Language
from veriscene.world.schema import Attribute, World
from veriscene.world.world_file import plural_of

Pair = tuple[str, str]  # singular and plural


def word_list(text: str) -> tuple[str, ...]:
    """Returns the words of a text."""
    return tuple(text.split())


def noun_list(text: str) -> tuple[Pair, ...]:
    """Returns the nouns of a text with their plurals; an irregular plural follows a slash."""
    found = (each.partition("/") for each in text.split())
    return tuple((word, plural or plural_of(word)) for word, _, plural in found)


NUMBERS = word_list("""
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
""")
ORDINALS = word_list("zeroth first second third fourth fifth sixth seventh eighth ninth tenth")

# General nouns. The first one is used most often; a world's own words come before these.
_BOXES = noun_list("box panel section area frame compartment part container region")
_ITEMS = noun_list("item object thing thing element piece figure one")
_SHAPES = noun_list("shape shape form")
_TOWERS = noun_list("tower tower stack pile column")
_BLOCKS = noun_list("block block brick cube piece")

# Other words for those that worlds compare with, and verbs for some attributes.
COMPARED = {
    "larger": "(larger|bigger|bigger)",
    "smaller": "(smaller|smaller|tinier)",
    "largest": "(largest|biggest|biggest)",
    "smallest": "(smallest|smallest|tiniest|littlest)",
    "more expensive": "(more expensive|more expensive|pricier)",
    "cheaper": "(cheaper|cheaper|less expensive)",
    "most expensive": "(most expensive|most expensive|priciest)",
    "cheapest": "(cheapest|cheapest|least expensive)",
}
MEASURED = {
    "price": ("costs", "cost", "costing"),
    "weight": ("weighs", "weigh", "weighing"),
}
_AREA = replace(
    Attribute(name="area", kind="numeric", field="area", words=("size",)),
    more="larger",
    less="smaller",
    most="largest",
    least="smallest",
)
UNITS = {"€": "euros", "$": "dollars", "£": "pounds"}

# What is_foreign says of an item: it has a property that no item of this world can have. These lists are the only
# colours and shapes that are named outside of worlds/.
FOREIGN = "is_foreign(@)"
_FOREIGN_ADJECTIVES = word_list("""
    red green orange purple pink brown white grey gray violet turquoise golden silver cyan magenta beige crimson maroon
    teal lilac striped dotted transparent wooden round-cornered hollow
""")
_FOREIGN_NOUNS = noun_list("""
    star rectangle pentagon hexagon diamond heart oval ellipse cross cat dog house tree car person/people arrow ring
    cylinder sphere pyramid letter octagon crescent moon flower ball bottle face line rhombus trapezoid cone
    fish/fish
""")


@dataclass(frozen=True)
class Place:
    """A particular box, and the adjectives that tell which."""

    box: str  # program text
    words: tuple[str, ...]
    number: int | None = None  # counted from 1
    is_side: bool = False  # "on the left" is possible
    is_middle: bool = False


@dataclass(frozen=True)
class Lexicon:
    """The words of a language's world, and the names of its attributes and values in programs."""

    language: Language

    @property
    def world(self) -> World:
        """The world that the words are about."""
        return self.language.world

    @cached_property
    def names(self) -> dict[str, str]:
        """The name in programs of each attribute, and of the area of items that state their own extent."""
        own = {attribute.name: written for written, attribute in self.language.attributes.items()}
        return {**{each.name: each.name for each in self.measures}, **own}

    @cached_property
    def measures(self) -> tuple[Attribute, ...]:
        """What can be compared without being an attribute: the areas of items that state their own extent."""
        is_new = "area" in self.language.functions and "area" not in self.world.by_name
        return (_AREA,) if is_new and not any(each.more == _AREA.more for each in self.world.attributes) else ()

    @cached_property
    def constants(self) -> dict[tuple[str, str], str]:
        """The constant of each attribute's value."""
        found: dict[tuple[str, str], str] = {}
        for written, attribute in self.language.attributes.items():
            own = [name for name in self.language.constants if name.startswith(f"{written}.")]
            found |= {(attribute.name, choice.name): name for choice, name in zip(attribute.choices, own, strict=True)}
        return found

    @cached_property
    def nouns(self) -> dict[tuple[str, str], list[Pair]]:
        """The nouns for each value of the attribute whose values name items."""
        found: dict[tuple[str, str], list[Pair]] = {}
        if (noun := self.world.noun) is not None:
            for choice in noun.choices:
                plurals = (*choice.plural, *(plural_of(word) for word in choice.words[len(choice.plural) :]))
                found[noun.name, choice.name] = list(zip(choice.words, plurals, strict=False))
        return found

    @cached_property
    def boxes(self) -> list[Pair]:
        """Nouns for boxes; the first ones are used most often."""
        own = (self.world.box.singular, self.world.box.plural)
        return [own, own, own, *(pair for pair in _BOXES if pair[0] not in self._taken)]

    @cached_property
    def items(self) -> list[Pair]:
        """Nouns for items of any kind."""
        own = (self.world.item.singular, self.world.item.plural)
        shapes = _SHAPES if self.world.noun and self.world.noun.name == "shape" else ()
        return [own, *shapes, *(pair for pair in _ITEMS if pair[0] not in self._taken)]

    @cached_property
    def towers(self) -> list[Pair]:
        """Nouns for towers."""
        return [pair for pair in _TOWERS if pair[0] not in self._taken]

    @cached_property
    def blocks(self) -> list[Pair]:
        """Nouns for the items of towers."""
        return [pair for pair in _BLOCKS if pair[0] not in self._taken]

    @cached_property
    def _taken(self) -> frozenset[str]:
        """All words for values: they must not be used in another sense."""
        return frozenset(
            word for attribute in self.world.attributes for each in attribute.choices for word in each.words
        )

    def foreign_adjective(self, rng: random.Random) -> str:
        """An adjective for what the world lacks."""
        return rng.choice([word for word in _FOREIGN_ADJECTIVES if word not in self._taken])

    def foreign_noun(self, rng: random.Random) -> Pair:
        """A noun for what the world lacks."""
        return rng.choice([pair for pair in _FOREIGN_NOUNS if pair[0] not in self._taken])

    # ------------------------------------------------------------ particular boxes

    @cached_property
    def places(self) -> list[Place]:
        """Words for particular boxes: left, first, last; `distinct_places` has each box once."""
        low, high = self.world.boxes
        if high == 1:
            return []
        found = [Place(f"all_boxes[{at}]", (ORDINALS[at + 1],), at + 1) for at in range(min(high, len(ORDINALS) - 1))]
        last = f"all_boxes[{high - 1}]" if low == high else "last(all_boxes)"
        found += [Place("all_boxes[0]", ("left", "leftmost", "left", "far left"), is_side=True)] * 2
        found += [Place(last, ("right", "rightmost", "right", "far right"), is_side=True)] * 2
        found += [Place(last, ("last", "final"))]
        if low == high and high % 2:
            middle = ("middle", "middle", "center", "central", "centre")
            found += [Place(f"all_boxes[{high // 2}]", middle, is_middle=True)] * 2
        return found

    @cached_property
    def distinct_places(self) -> list[Place]:
        """One place for each box that certainly exists, and words for it, all of one family: left and right, or first
        and second."""
        low, high = self.world.boxes
        if low == high == 3:
            by_side = {place.box: place for place in self.places if place.is_side or place.is_middle}
            return list(by_side.values())
        return [place for place in self.places if place.number is not None]


@lru_cache(maxsize=16)
def lexicon_of(language: Language) -> Lexicon:
    """Returns the lexicon of a language; lexicons are kept."""
    return Lexicon(language)
