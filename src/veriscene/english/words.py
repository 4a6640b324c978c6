"""The words for a world: those of its file, general ones for boxes and items, and words for what it lacks."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from veriscene.english.tables import tables
from veriscene.language.language import Language
from veriscene.world.schema import Attribute, World
from veriscene.world.world_file import plural_of

Pair = tuple[str, str]  # singular and plural


_LISTS = {name: " ".join(table.wordings).split() for name, table in tables(__name__).items()}
NUMBERS, ORDINALS, ONE_LETTER_APART = (tuple(_LISTS[name]) for name in ("numbers", "ordinals", "one_letter_apart"))
_BOXES, _ITEMS, _SHAPES, _TOWERS, _BLOCKS, _FOREIGN_NOUNS = (
    [(word, plural or plural_of(word)) for word, _, plural in (each.partition("/") for each in _LISTS[name])]
    for name in ("boxes", "items", "shapes", "towers", "blocks", "foreign_nouns")
)
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

FOREIGN = "is_foreign(@)"  # an item has a property that no item of this world can have


@dataclass(frozen=True)
class Place:
    """Names a particular box by its program text and the adjectives that tell which."""

    box: str  # program text
    words: tuple[str, ...]
    number: int | None = None  # counted from 1
    is_side: bool = False  # "on the left" is possible
    is_middle: bool = False


@dataclass(frozen=True)
class Lexicon:
    """Knows the words of a language's world, and the names of its attributes and values in programs."""

    language: Language

    @property
    def world(self) -> World:
        """Returns the world that the words are about."""
        return self.language.world

    @cached_property
    def names(self) -> dict[str, str]:
        """Returns the name in programs of each attribute, and of the area of items that state their own extent."""
        own = {attribute.name: written for written, attribute in self.language.attributes.items()}
        return {**{each.name: each.name for each in self.measures}, **own}

    @cached_property
    def measures(self) -> tuple[Attribute, ...]:
        """Returns what can be compared without being an attribute: the areas of items that state their own extent."""
        is_new = "area" in self.language.functions and "area" not in self.world.by_name
        return (_AREA,) if is_new and not any(each.more == _AREA.more for each in self.world.attributes) else ()

    @cached_property
    def constants(self) -> dict[tuple[str, str], str]:
        """Returns the constant of each attribute's value."""
        found: dict[tuple[str, str], str] = {}
        for written, attribute in self.language.attributes.items():
            own = [name for name in self.language.constants if name.startswith(f"{written}.")]
            found |= {(attribute.name, choice.name): name for choice, name in zip(attribute.choices, own, strict=True)}
        return found

    @cached_property
    def nouns(self) -> dict[tuple[str, str], list[Pair]]:
        """Returns the nouns for each value of the attribute whose values name items."""
        found: dict[tuple[str, str], list[Pair]] = {}
        if (noun := self.world.noun) is not None:
            for choice in noun.choices:
                plurals = (*choice.plural, *(plural_of(word) for word in choice.words[len(choice.plural) :]))
                found[noun.name, choice.name] = list(zip(choice.words, plurals, strict=False))
        return found

    @cached_property
    def boxes(self) -> list[Pair]:
        """Returns nouns for boxes; the first ones are used most often."""
        own = (self.world.box.singular, self.world.box.plural)
        return [own, own, own, *(pair for pair in _BOXES if pair[0] not in self._taken)]

    @cached_property
    def items(self) -> list[Pair]:
        """Returns nouns for items of any kind."""
        own = (self.world.item.singular, self.world.item.plural)
        shapes = _SHAPES if self.world.noun and self.world.noun.name == "shape" else ()
        return [own, *shapes, *(pair for pair in _ITEMS if pair[0] not in self._taken)]

    @cached_property
    def towers(self) -> list[Pair]:
        """Returns nouns for towers."""
        return [pair for pair in _TOWERS if pair[0] not in self._taken]

    @cached_property
    def blocks(self) -> list[Pair]:
        """Returns nouns for the items of towers."""
        return [pair for pair in _BLOCKS if pair[0] not in self._taken]

    @cached_property
    def _taken(self) -> frozenset[str]:
        """All words for values: they must not be used in another sense."""
        return frozenset(
            word for attribute in self.world.attributes for each in attribute.choices for word in each.words
        )

    def foreign_adjective(self, rng: random.Random) -> str:
        """Draws an adjective for what the world lacks."""
        return rng.choice([word for word in _LISTS["foreign_adjectives"] if word not in self._taken])

    def foreign_noun(self, rng: random.Random) -> Pair:
        """Draws a noun for what the world lacks."""
        return rng.choice([pair for pair in _FOREIGN_NOUNS if pair[0] not in self._taken])

    # ------------------------------------------------------------ particular boxes

    @cached_property
    def places(self) -> list[Place]:
        """Returns words for particular boxes: left, first, last; `distinct_places` has each box once."""
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
        """Returns one place for each box that certainly exists, and words for it, all of one family: left and right, or
        first and second."""
        low, high = self.world.boxes
        if low == high == 3:
            by_side = {place.box: place for place in self.places if place.is_side or place.is_middle}
            return list(by_side.values())
        return [place for place in self.places if place.number is not None]


def real_words(world: World) -> frozenset[str]:
    """Returns the words, without misspellings, that most statements about scenes of a world are made of."""
    nouns = (pair for pairs in (_BOXES, _ITEMS, _SHAPES, _TOWERS, _BLOCKS) for pair in pairs)
    choices = [(choice, each.is_noun) for each in world.attributes for choice in each.choices]
    said = [word for choice, _ in choices for word in (*choice.words, *choice.plural)]
    said += [plural_of(word) for choice, is_noun in choices if is_noun for word in choice.words]
    own = (world.box.singular, world.box.plural, world.item.singular, world.item.plural)
    compared = (word for each in world.attributes for word in (each.more, each.less, each.most, each.least))
    said += [word for each in world.attributes for word in each.words]
    phrases = (
        *_LISTS["common"],
        *NUMBERS,
        *ORDINALS,
        *(word for pair in nouns for word in pair),
        *said,
        *own,
        *compared,
    )
    return frozenset(word for phrase in phrases for word in phrase.lower().split())


@lru_cache(maxsize=16)
def lexicon_of(language: Language) -> Lexicon:
    """Returns the lexicon of a language; lexicons are kept."""
    return Lexicon(language)
