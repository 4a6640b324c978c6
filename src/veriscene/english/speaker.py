"""A speaker: one way to speak about a world, with the words that it uses throughout a statement.

Speakers draw the parts of statements, each with its meaning: kinds of items, properties, quantities, and where. Rules
(counts.py, boxes.py, places.py, towers.py) put these together.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from veriscene.english import meaning as mean
from veriscene.english.meaning import Unfit
from veriscene.english.pattern import expand
from veriscene.english.tables import Row, tables
from veriscene.english.words import FOREIGN, NUMBERS, Lexicon, Place
from veriscene.world.scene import Side, Value
from veriscene.world.schema import Attribute, Choice

T = TypeVar("T")
_TABLES = tables(__name__)
USUAL, LARGE = 6, 30  # numbers of items: up to which they are frequent, and up to which they occur at all


@dataclass(frozen=True)
class Sentence:
    """Holds a wording in the notation of pattern.py and its program. `kind`: of scenes that it is about; None: any."""

    text: str
    meaning: str
    kind: str | None = None


@dataclass(frozen=True)
class Kind:
    """Names a kind of item: a noun with what restricts it, without a determiner."""

    singular: str
    plural: str
    condition: str = ""  # on the item @; empty: any item

    @property
    def a(self) -> str:
        return f"a {self.singular}"

    def among(self, items: str, condition: str = "") -> str:
        """Returns the program text of those of a set that are of this kind and meet another condition."""
        return mean.those(items, mean.both(self.condition, condition))

    def that(self, singular: str, plural: str, condition: str) -> Kind:
        """Returns this kind with words after the noun that restrict it further."""
        return Kind(f"{self.singular} {singular}", f"{self.plural} {plural}", mean.both(self.condition, condition))


@dataclass(frozen=True)
class Property:
    """Says something of an item after "is" (singular) or of items after "are" (plural)."""

    singular: str
    plural: str
    condition: str  # on the item @

    @property
    def ones(self) -> Kind | None:
        """Returns what has it, as a noun: "blue one", "square"; None of properties in several words."""
        one = self.singular.removeprefix("a ")
        if one != self.singular or self.singular != self.plural:
            return Kind(one, self.plural, self.condition)
        return Kind(f"{one} one", f"{one} ones", self.condition) if one.isalpha() else None


@dataclass(frozen=True)
class Quantity:
    """Holds a quantity; `{}` in its words stands for the noun, in its test for the count."""

    words: str
    test: str  # as "{} >= 2"
    plural: bool = True

    def of(self, kind: Kind) -> str:
        return self.words.format(kind.plural if self.plural else kind.singular)

    def holds(self, items: str) -> str:
        """Returns whether so many items are in a set."""
        if self.test == SOME:
            return f"exist({items})"
        if self.test == NO:
            return f"not exist({items})"
        return self.test.format(f"count({items})")


SOME, NO = "{} >= 1", "{} == 0"


@dataclass(frozen=True)
class Domain:
    """Says what a statement is about: the whole scene, one box, or boxes with a quantifier."""

    items: str  # program text of the set of items; # in it is the box of a quantifier
    where: str  # "in the left box", "in every box"; may be empty for the whole scene
    subject: str  # "the left box", "every box", "the picture"
    plural: bool = False  # whether the subject's verb is plural
    bind: Callable[[str], str] = lambda meaning: meaning  # binds the box
    is_quantified: bool = False
    box: str = ""  # program text of the box, where there is one

    @property
    def front(self) -> str:
        """Returns the place at the beginning of a sentence: "in the left box, "; empty for the whole scene."""
        return f"{self.where}, " if self.where else ""

    @property
    def is_negative(self) -> bool:
        """Returns whether it is about no box, or not every box."""
        return self.is_quantified and self.subject.startswith(("no ", "none ", "not ", "neither ", "zero "))


class Speaker:
    """Draws words and parts of statements."""

    def __init__(self, rng: random.Random, lexicon: Lexicon, kind: str | None = None) -> None:
        """`kind`: "tower" if all boxes hold towers, in worlds that have them."""
        self.rng, self.lexicon, self.world, self.scene_kind = rng, lexicon, lexicon.world, kind
        self.is_tower = kind == "tower"
        boxes = lexicon.towers if self.is_tower and self.chance(0.75) else lexicon.boxes
        items = lexicon.blocks if self.is_tower and self.chance(0.7) else lexicon.items
        self.box, self.boxes = self.favourite(boxes)
        self.item, self.items = self.favourite(items)
        self.digits = self.chance(0.35)
        # Attributes that are the same of all blocks of towers are hardly mentioned.
        self.fixed = self._fixed_in_towers() if self.is_tower and self.chance(0.9) else {}
        self.foreign = 0.03  # chance of a value that the world lacks

    def _fixed_in_towers(self) -> dict[str, Value]:
        """The attributes that all blocks of towers share, with their value where it is known."""
        fixed = {each.name: "" for each in self.world.attributes if each.has_extents}
        return fixed | dict(self.world.towers.values if self.world.towers else ())

    # ------------------------------------------------------------ chances

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def pick(self, *options: T) -> T:
        return self.rng.choice(options)

    def favourite(self, options: Sequence[T]) -> T:
        """Draws one of several options, of which the first is the most frequent."""
        return options[0] if self.chance(0.4) else self.rng.choice(options)

    def weighted(self, *options: tuple[float, T]) -> T:
        return self.rng.choices([value for _, value in options], [weight for weight, _ in options])[0]

    def expand(self, text: str) -> str:
        return expand(self.rng, text)

    # ------------------------------------------------------------ numbers

    def number(self, value: int) -> str:
        """Returns the number in words or digits."""
        is_word = value < len(NUMBERS) and not self.digits
        return NUMBERS[value] if is_word else str(value)

    def small(self, low: int = 1, high: int = 6) -> int:
        """Draws a number that counts items; small ones are more frequent."""
        most = min(LARGE, self.world.boxes[1] * self.world.items[1])
        if high >= USUAL and most > high and self.chance(0.06):
            return self.rng.randint(high + 1, most)
        value = low
        while value < high and self.chance(0.62):
            value += 1
        return value

    def boxes_number(self, low: int = 1) -> int:
        return self.rng.randint(low, max(low, self.world.boxes[1]))

    # ------------------------------------------------------------ kinds of items

    def values(self, *, nouns: bool = True) -> list[tuple[Attribute, Choice]]:
        """Returns all values that can be said in words, of attributes that are not numeric."""
        return [
            (attribute, choice)
            for attribute in self.world.attributes
            if (nouns or not attribute.is_noun) and attribute.name not in self.fixed
            for choice in attribute.choices
        ]

    def attribute(self, *, nouns: bool = True) -> Attribute | None:
        """Draws a categorical or ordered attribute, if the world has any."""
        found = [each for each in self.world.attributes if each.choices and (nouns or not each.is_noun)]
        return self.rng.choice(found) if found else None

    def has(self, attribute: Attribute, choice: Choice) -> str:
        """Returns the condition that an item has a value."""
        name = self.lexicon.names[attribute.name]
        return f"{name}(@) == {self.lexicon.constants[attribute.name, choice.name]}"

    def kind(self, *, plain: bool = False, modified: float = 0.12, generic: float = 0.12) -> Kind:
        """Draws a kind of item. `plain`: at most an adjective and a noun; `modified`: chance of words after the noun;
        `generic`: chance of any item at all."""
        if self.chance(generic):
            found = Kind("thing", "things") if self.item == "one" else Kind(self.item, self.items)
        else:
            found = self._simple_kind()
        if not plain and self.chance(modified):
            modifier = self.modifier(found)
            return modifier if modifier is not None else found
        return found

    def _simple_kind(self) -> Kind:
        noun = self.world.noun
        if self.chance(self.foreign):
            return self._foreign_kind()
        singular, plural, conditions = self.item, self.items, []
        has_noun = noun is not None and self.chance(0.35 if self.is_tower else 0.6)
        if has_noun:
            assert noun is not None
            choices = [each for each in noun.choices if self.fixed.get(noun.name) in (None, "", each.name)]
            choice = self.rng.choice(choices)
            singular, plural = self.rng.choice(self.lexicon.nouns[noun.name, choice.name])
            conditions.append(self.has(noun, choice))
        options = [each for each in self.world.attributes if each.choices and not each.is_noun]
        adjectives = [each for each in options if each.name not in self.fixed] or options
        self.rng.shuffle(adjectives)
        # An adjective is needed where the noun says nothing; two are rare.
        wanted = self.weighted((0.45, 0), (0.45, 1), (0.1, 2)) if has_noun else self.weighted((0.85, 1), (0.15, 2))
        before, after = [], ""
        for attribute in adjectives[:wanted]:
            choice = self.rng.choice(attribute.choices)
            word = self.rng.choice(choice.words)
            if " " in word and not after:  # "on offer"
                after = self.pick(word, f"that (is|are) {word}", f"which (is|are) {word}")
            elif " " not in word:
                before.append((self.world.attributes.index(attribute), word))
            else:
                continue
            conditions.append(self.has(attribute, choice))
        words = " ".join(word for _, word in sorted(before))
        if not has_noun and len(before) == 1 and not after and self.chance(0.12):
            singular, plural = self.pick(("one", "ones"), ("thing", "things"), ("piece", "pieces"))
        one, many = (after.replace("(is|are)", verb) for verb in ("is", "are"))
        return Kind(
            " ".join(f"{words} {singular} {one}".split()),
            " ".join(f"{words} {plural} {many}".split()),
            mean.both(*sorted(conditions)),
        )

    def _foreign_kind(self) -> Kind:
        """A kind that this world lacks: a red square, a star."""
        adjective, noun = self.lexicon.foreign_adjective(self.rng), self.lexicon.foreign_noun(self.rng)
        return self.pick(
            Kind(f"{adjective} {self.item}", f"{adjective} {self.items}", FOREIGN),
            Kind(noun[0], noun[1], FOREIGN),
            Kind(f"{adjective} {noun[0]}", f"{adjective} {noun[1]}", FOREIGN),
            *(
                Kind(f"{adjective} {known[0]}", f"{adjective} {known[1]}", FOREIGN)
                for known in [self.rng.choice(each) for each in self.lexicon.nouns.values()]
            ),
        )

    def modifier(self, kind: Kind) -> Kind | None:
        """Draws the kind with a relative clause or a place: "that are not blue", "in a box", "touching a wall"."""
        from veriscene.english.compare import measured_kind  # these draw kinds, too
        from veriscene.english.places import placed_kind

        is_numeric = any(each.kind == "numeric" for each in self.world.attributes)
        how = self.weighted(
            (0.4, "property"), (0.3, "box"), (0.3, "place"), (0.1, "neither"), (0.12, "other"),
            (0.4 * is_numeric, "number"),
        )  # fmt: skip
        if how == "neither":
            return self._neither(kind)
        if how == "number":
            return measured_kind(self, kind)
        if how == "box" and self.world.boxes[1] > 1:
            where = self.which()
            return kind.that(where.where, where.where, f"@.box == {where.box}")
        if how == "place":
            return placed_kind(self, kind)
        found = self.property(noun=how == "other", avoid=kind.condition)
        if kind.condition and found.condition.partition("==")[0] in kind.condition:
            return None
        if how == "other":
            if (ones := found.ones) is None:
                return None
            return kind.that(f"other than {ones.a}", f"other than {ones.plural}", mean.negation(found.condition))
        is_, are, condition = "(that|which) is", "(that|which) are", found.condition
        if self.chance(0.5):
            is_, are, condition = "that (is not|isn't)", "that (are not|aren't)", mean.negation(condition)
            if found.singular.isalpha() and found.singular == found.plural and self.chance(0.35):
                non = f"non-{found.singular}"
                return Kind(f"{non} {kind.singular}", f"{non} {kind.plural}", mean.both(kind.condition, condition))
        return kind.that(self.expand(f"{is_} {found.singular}"), self.expand(f"{are} {found.plural}"), condition)

    def _neither(self, kind: Kind) -> Kind | None:
        """ "That are neither blue nor black"; "touching neither the left nor the right wall"; "that touch no wall"."""
        if self.world.walls and self.chance(0.5):
            wall, sides = self.pick("wall", "edge", "side"), self.rng.sample(list(Side), 2)
            if self.chance(0.35):
                return kind.that(f"touching no {wall}", f"touching no {wall}", "not is_touching_wall(@)")
            words = f"touching neither the {sides[0].name.lower()} nor the {sides[1].name.lower()} {wall}"
            return kind.that(words, words, mean.both(*(f"not is_touching_wall(@, {side})" for side in sides)))
        attribute = self.attribute(nouns=False)
        if (
            attribute is None
            or len(attribute.choices) < 3
            or f"{self.lexicon.names[attribute.name]}(" in kind.condition
        ):
            return None
        choices = self.rng.sample(attribute.choices, 2)
        one, other = (self.rng.choice(each.words) for each in choices)
        condition = mean.both(*(mean.negation(f"({self.has(attribute, each)})") for each in choices))
        return kind.that(f"that is neither {one} nor {other}", f"that are neither {one} nor {other}", condition)

    def property(self, *, noun: bool = True, avoid: str = "") -> Property:
        """Draws a value, as it is said after "is", of none of the attributes in the conditions `avoid`."""
        if self.chance(self.foreign):
            word = self.lexicon.foreign_adjective(self.rng)
            return Property(word, word, FOREIGN)
        values = self.values(nouns=noun)
        if not values or self.chance(0.12):
            from veriscene.english.compare import measured_property  # which draws from a speaker, too

            if (limit := measured_property(self)) is not None:
                return limit
        if not values:
            raise Unfit
        for _ in range(30):
            attribute, choice = self.rng.choice(values)
            condition = self.has(attribute, choice)
            if f"{self.lexicon.names[attribute.name]}(@)" not in avoid:
                break
        if attribute.is_noun:
            singular, plural = self.rng.choice(self.lexicon.nouns[attribute.name, choice.name])
            return Property(f"a {singular}", plural, condition)
        word = self.rng.choice(choice.words)
        return Property(word, word, condition)

    # ------------------------------------------------------------ quantities

    def quantity(self, *, low: int = 1, high: int = 6, negative: bool = True) -> Quantity:
        """Draws how many there are; `negative`: whether it may be none."""
        value = self.small(low, high)
        least, is_one = max(2, value), value == 1
        most = least + self.rng.randint(1, 3)
        fits = {"negative": negative, "is one": is_one, "several": value > 1, "is two": value == 2}
        row = self._fitting("quantity", fits)
        numbers = {"n": self.number(value), "m": self.number(least), "k": self.number(most)}
        numbers["or_fewer"] = "" if is_one else f"|{numbers['n']} or (fewer|less)"
        test, number, _ = row.columns
        limits = {"value": value, "least": least, "most": most, "more_than": "{} >= 2" if is_one else f"{{}} > {value}"}
        words = self.expand(row.wordings[0].format("{}", **numbers))
        return Quantity(words, test.format("{}", **limits), {"one": False, "many": True, "n": not is_one}[number])

    def _fitting(self, table: str, fits: Mapping[str, float]) -> Row:
        """A row of a table whose last column says when it fits."""
        rows = _TABLES[table].rows
        return self.weighted(*((weight * fits.get(row.columns[-1], 1), row) for weight, row in rows))

    # ------------------------------------------------------------ where

    def scene(self) -> Domain:
        """Draws the whole scene."""
        picture = self.pick("the picture", "the image", "the scene", "this picture", "the whole picture", "the drawing")
        where = self.pick("", "", "", "", "", f"in {picture}", "here", "in the picture")
        return Domain(mean.ALL_ITEMS, where, picture)

    def place_of(self, position: Place) -> Domain:
        """Draws a particular box, as "the left box"."""
        word = self.rng.choice(position.words)
        side, middle = word.removesuffix("most"), word if word != "central" else "middle"
        words = {"word": word, "box": self.box, "boxes": self.boxes, "side": side, "middle": middle}
        options = [*_TABLES["place"].wordings]
        options += _TABLES["side"].wordings * position.is_side + _TABLES["middle"].wordings * position.is_middle
        if position.number is not None and self.chance(0.3):
            options += _TABLES["numbered"].wordings
            words["n"] = self.number(position.number)
        subject = self.rng.choice(options).format(**words)
        preposition = (
            self.pick("in", "in", "in", "inside", "within") if not self.is_tower else self.pick("in", "in", "within")
        )
        where = f"{preposition} {subject}"
        if position.is_side and self.chance(0.3):
            where = _TABLES["at_side"].say(self, **words)
        if position.is_middle and self.chance(0.3):
            where = _TABLES["at_middle"].say(self, **words)
        return Domain(position.box, where, subject, box=position.box)

    def which(self) -> Domain:
        """Draws a random particular box."""
        return self.place_of(self.rng.choice(self.lexicon.places))

    def two_places(self) -> tuple[Domain, Domain]:
        """Draws two different particular boxes."""
        first, second = self.rng.sample(self.lexicon.distinct_places, 2)
        return self.place_of(first), self.place_of(second)

    def quantified(self, *, simple: bool = False) -> Domain:
        """Draws boxes with a quantifier: some, every, no, exactly two. `simple`: hardly any numbers."""
        boxes, every_box = self.boxes, mean.ALL_BOXES
        low, total = self.world.boxes
        rare, is_fixed, value = 0.1 if simple else 1.0, low == total, self.boxes_number(2)
        part = self.rng.randint(1, max(1, total - 1))
        quantity = self.quantity(high=max(2, total - 1))
        some, every, none = (partial(each, every_box, sign="#") for each in (mean.some, mean.every, mean.none))

        def count(test: str) -> str:
            return mean.count(every_box, test, "#")

        meanings: dict[str, Callable[[str], str]] = {
            "some": some,
            "every": every,
            "none": none,
            "not every": lambda test: mean.negation(every(test)),
            "most": lambda test: f"{count(test)} > {count(mean.negation(test))}",
            "all but one": lambda test: f"{count(mean.negation(test))} == 1",
            "so many": lambda test: quantity.holds(mean.those(every_box, test, "#")),
        }
        row = self._fitting("quantified", {"rare": rare, "of all": rare * (is_fixed and total > 2)})
        number, meaning, _ = row.columns
        limit = meaning.format(value=value, part=part)
        plural = {"one": False, "many": True, "part": part > 1, "so many": quantity.plural}[number]
        words = {"box": self.box, "boxes": boxes, "n": self.number(value), "k": self.number(part)}
        words |= {"t": self.number(total), "so_many": quantity.of(Kind(self.box, boxes)), "numbered": ""}
        if is_fixed and total > 1:
            words["numbered"] = f"|both {boxes}" if total == 2 else f"|all {self.number(total)} {boxes}"
        bind = meanings.get(meaning, lambda test: f"{count(test)} {limit}")
        return self.boxes_with(row.wordings[0].format(**words), plural, bind)

    def boxes_with(self, words: str, plural: bool, bind: Callable[[str], str]) -> Domain:
        """Returns boxes with a quantifier: its words, and the program that so many boxes meet a condition on #."""
        words, preposition = self.expand(words), self.pick("in", "in", "in", "inside", "within")
        return Domain("#", f"{preposition} {words}", words, plural, bind, is_quantified=True, box="#")

    def domain(self, *, quantified: float = 0.0) -> Domain:
        """Draws the whole scene, a particular box or, with a chance of `quantified`, boxes with a quantifier."""
        if self.world.boxes[1] == 1:
            return self.scene()
        if self.chance(quantified):
            return self.quantified()
        return self.which() if self.chance(0.4) else self.scene()
