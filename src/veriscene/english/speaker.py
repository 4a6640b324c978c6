"""A speaker: one way to speak about a world, with the words that it uses throughout a statement.

Speakers draw the parts of statements, each with its meaning: kinds of items, properties, quantities, and where. Rules
(counts.py, boxes.py, places.py, towers.py) put these together.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from veriscene.english import meaning as mean
from veriscene.english.pattern import expand
from veriscene.english.words import FOREIGN, NUMBERS, Lexicon, Place
from veriscene.world.scene import Value
from veriscene.world.schema import Attribute, Choice

T = TypeVar("T")


@dataclass(frozen=True)
class Sentence:
    """A wording in the notation of pattern.py, with its program. `kind`: of the scenes that it is about; None: any."""

    text: str
    meaning: str
    kind: str | None = None


@dataclass(frozen=True)
class Kind:
    """A kind of item: a noun with what restricts it, without a determiner."""

    singular: str
    plural: str
    condition: str = ""  # on the item @; empty: any item

    @property
    def a(self) -> str:
        return f"a {self.singular}"

    def among(self, items: str, condition: str = "") -> str:
        """The program text of those of a set that are of this kind and meet another condition."""
        return mean.those(items, mean.both(self.condition, condition))

    def that(self, singular: str, plural: str, condition: str) -> Kind:
        """This kind with words after the noun that restrict it further."""
        return Kind(f"{self.singular} {singular}", f"{self.plural} {plural}", mean.both(self.condition, condition))


@dataclass(frozen=True)
class Property:
    """What can be said of an item after "is" (singular) or of items after "are" (plural)."""

    singular: str
    plural: str
    condition: str  # on the item @


@dataclass(frozen=True)
class Quantity:
    """A quantity; `{}` in its words stands for the noun, in its test for the count."""

    words: str
    test: str  # as "{} >= 2"
    plural: bool = True

    def of(self, kind: Kind) -> str:
        return self.words.format(kind.plural if self.plural else kind.singular)

    def holds(self, items: str) -> str:
        """Whether so many items are in a set."""
        if self.test == SOME:
            return f"exist({items})"
        if self.test == NO:
            return f"not exist({items})"
        return self.test.format(f"count({items})")


SOME, NO = "{} >= 1", "{} == 0"


@dataclass(frozen=True)
class Domain:
    """What a statement is about: the whole scene, one box, or boxes with a quantifier."""

    items: str  # program text of the set of items; # in it is the box of a quantifier
    where: str  # "in the left box", "in every box"; may be empty for the whole scene
    subject: str  # "the left box", "every box", "the picture"
    plural: bool = False  # whether the subject's verb is plural
    bind: Callable[[str], str] = lambda meaning: meaning  # binds the box
    is_quantified: bool = False
    box: str = ""  # program text of the box, where there is one

    @property
    def front(self) -> str:
        """The place at the beginning of a sentence: "in the left box, "; empty for the whole scene."""
        return f"{self.where}, " if self.where else ""

    @property
    def is_negative(self) -> bool:
        """Whether it is about no box, or not every box."""
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
        """One of several options, of which the first is the most frequent."""
        return options[0] if self.chance(0.4) else self.rng.choice(options)

    def weighted(self, *options: tuple[float, T]) -> T:
        return self.rng.choices([value for _, value in options], [weight for weight, _ in options])[0]

    def expand(self, text: str) -> str:
        return expand(self.rng, text)

    # ------------------------------------------------------------ numbers

    def number(self, value: int) -> str:
        """The number in words or digits."""
        is_word = value < len(NUMBERS) and not self.digits
        return NUMBERS[value] if is_word else str(value)

    def small(self, low: int = 1, high: int = 6) -> int:
        """A number that counts items; small ones are more frequent."""
        value = low
        while value < high and self.chance(0.62):
            value += 1
        return value

    def boxes_number(self, low: int = 1) -> int:
        return self.rng.randint(low, max(low, self.world.boxes[1]))

    # ------------------------------------------------------------ kinds of items

    def values(self, *, nouns: bool = True) -> list[tuple[Attribute, Choice]]:
        """All values that can be said in words, of attributes that are not numeric."""
        return [
            (attribute, choice)
            for attribute in self.world.attributes
            if (nouns or not attribute.is_noun) and attribute.name not in self.fixed
            for choice in attribute.choices
        ]

    def attribute(self, *, nouns: bool = True) -> Attribute | None:
        """A categorical or ordered attribute, if the world has any."""
        found = [each for each in self.world.attributes if each.choices and (nouns or not each.is_noun)]
        return self.rng.choice(found) if found else None

    def has(self, attribute: Attribute, choice: Choice) -> str:
        """The condition that an item has a value."""
        name = self.lexicon.names[attribute.name]
        return f"{name}(@) == {self.lexicon.constants[attribute.name, choice.name]}"

    def kind(self, *, plain: bool = False, modified: float = 0.12, generic: float = 0.12) -> Kind:
        """A kind of item. `plain`: at most an adjective and a noun; `modified`: chance of words after the noun;
        `generic`: chance of any item at all."""
        if self.chance(generic):
            found = Kind("thing", "things") if self.item == "one" else Kind(self.item, self.items)
        else:
            found = self._simple_kind()
        if not plain and self.chance(modified):
            modifier = self.modifier(found)
            return modifier if modifier is not None else found
        return found

    def two_kinds(self) -> tuple[Kind, Kind]:
        """Two different kinds."""
        first = self.kind(plain=True, generic=0.04)
        for _ in range(20):
            second = self.kind(plain=True, generic=0.04)
            if second.condition != first.condition:
                break
        return first, second

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
        """The kind with a relative clause or a place: "that are not blue", "in the left box", "touching a wall"."""
        from veriscene.english.compare import measured_kind  # these draw kinds, too
        from veriscene.english.places import placed_kind

        is_numeric = any(each.kind == "numeric" for each in self.world.attributes)
        how = self.weighted((0.4, "property"), (0.3, "box"), (0.3, "place"), (0.4 * is_numeric, "number"))
        if how == "number":
            return measured_kind(self, kind)
        if how == "box" and self.world.boxes[1] > 1:
            where = self.which()
            return kind.that(where.where, where.where, f"@.box == {where.box}")
        if how == "place":
            return placed_kind(self, kind)
        found = self.property(noun=False, avoid=kind.condition)
        if kind.condition and found.condition.partition("==")[0] in kind.condition:
            return None
        is_, are, condition = "(that|which) is", "(that|which) are", found.condition
        if self.chance(0.5):
            is_, are, condition = "that (is not|isn't)", "that (are not|aren't)", mean.negation(condition)
        return kind.that(self.expand(f"{is_} {found.singular}"), self.expand(f"{are} {found.plural}"), condition)

    def property(self, *, noun: bool = True, avoid: str = "") -> Property:
        """A value, as it is said after "is", of none of the attributes in the conditions `avoid`."""
        if self.chance(self.foreign):
            word = self.lexicon.foreign_adjective(self.rng)
            return Property(word, word, FOREIGN)
        if self.chance(0.12):
            from veriscene.english.compare import measured_property  # which draws from a speaker, too

            if (limit := measured_property(self)) is not None:
                return limit
        for _ in range(30):
            attribute, choice = self.rng.choice(self.values(nouns=noun))
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
        """How many; `negative`: whether it may be none."""
        value = self.small(low, high)
        n, is_one = self.number(value), value == 1
        least = max(2, value)
        most = least + self.rng.randint(1, 3)
        m, between = (
            self.number(least),
            f"(between {self.number(least)} and|{self.number(least)} to) {self.number(most)}",
        )
        at_least = f"(at least {m}|at least {m}|{m} or more|(no|not) fewer than {m}|no less than {m}|a minimum of {m})"
        or_fewer = "" if is_one else f"|{n} or (fewer|less)"
        at_most = f"(at most {n}|at most {n}|(no|not) more than {n}|up to {n}|a maximum of {n}{or_fewer})"
        words, test, plural = self.weighted(
            (2.2, ("(a|a|a|a|at least one|at least a single) {}", SOME, False)),
            (0.8, ("(some|one or more) {}", SOME, True)),
            (0.6 * negative, ("(no|not a single|not one) {}", NO, False)),
            (1.0 * negative, ("(no|no|no|zero) {} (|||whatsoever|at all)", NO, True)),
            (3.0 * is_one, (f"({n}|exactly {n}|only {n}|just {n}|a single|precisely {n}) {{}}", "{} == 1", False)),
            (2.8 * (value > 1), (f"(|||exactly|precisely|just|only|a total of) {n} {{}}", f"{{}} == {value}", True)),
            (0.6 * (value == 2), ("(a pair of|a couple of|exactly a pair of) {}", "{} == 2", True)),
            (2.1, (f"{at_least} {{}}", f"{{}} >= {least}", True)),
            (0.3, ("(several|multiple|a few) {}", "{} >= 2", True)),
            (0.2, ("more than (one|a single) {}", "{} >= 2", False)),
            (0.2, (f"{between} {{}}", f"{least} <= {{}} <= {most}", True)),
            (0.05, ("an even number of {}", "{} % 2 == 0", True)),
            (0.05, ("an odd number of {}", "{} % 2 == 1", True)),
            (0.8, (f"{at_most} {{}}", f"{{}} <= {value}", not is_one)),
            (0.6 * (value > 1), (f"(fewer than|less than|under|not even) {n} {{}}", f"{{}} < {value}", True)),
            (0.9, (f"(more than|more than|over) {n} {{}}", "{} >= 2" if is_one else f"{{}} > {value}", not is_one)),
        )
        return Quantity(self.expand(words), test, plural)

    # ------------------------------------------------------------ where

    def scene(self) -> Domain:
        """The whole scene."""
        picture = self.pick("the picture", "the image", "the scene", "this picture", "the whole picture", "the drawing")
        where = self.pick("", "", "", "", "", f"in {picture}", "here", "in the picture")
        return Domain(mean.ALL_ITEMS, where, picture)

    def place_of(self, position: Place) -> Domain:
        """A particular box, as "the left box"."""
        word = self.rng.choice(position.words)
        box = self.box
        options = [f"the {word} {box}"] * 5 + [f"the {word} one"]
        side = word.removesuffix("most")
        if position.is_side:
            options += [f"the {box} on the {side}", f"the {side}-hand {box}", f"the {box} to the {side}"]
        if position.is_middle:
            middle = word if word != "central" else "middle"
            options += [f"the {box} in the {middle}", f"the {middle} of the {self.boxes}"]
        if position.number is not None and self.chance(0.3):
            options += [f"{box} {self.number(position.number)}", f"{box} number {self.number(position.number)}"]
        subject = self.pick(*options)
        preposition = (
            self.pick("in", "in", "in", "inside", "within") if not self.is_tower else self.pick("in", "in", "within")
        )
        where = f"{preposition} {subject}"
        if position.is_side and self.chance(0.3):
            where = self.pick(f"on the {side}", f"on the {side} side", f"at the {side}", f"to the {side}", f"at {side}")
        if position.is_middle and self.chance(0.3):
            where = self.pick(f"in the {middle}", f"in the {middle}", "in the middle")
        return Domain(position.box, where, subject, box=position.box)

    def which(self) -> Domain:
        """A random particular box."""
        return self.place_of(self.rng.choice(self.lexicon.places))

    def two_places(self) -> tuple[Domain, Domain]:
        """Two different particular boxes."""
        first, second = self.rng.sample(self.lexicon.distinct_places, 2)
        return self.place_of(first), self.place_of(second)

    def quantified(self, *, simple: bool = False) -> Domain:
        """Boxes with a quantifier: some, every, no, exactly two. `simple`: hardly any numbers."""
        box, boxes, every_box = self.box, self.boxes, mean.ALL_BOXES
        low, total = self.world.boxes
        rare, is_fixed, value = 0.1 if simple else 1.0, low == total, self.boxes_number(2)
        n, part = self.number(value), self.rng.randint(1, max(1, total - 1))
        numbered = f"|both {boxes}" * (is_fixed and total == 2) + f"|all {self.number(total)} {boxes}" * (
            is_fixed and total > 2
        )
        quantity = self.quantity(high=max(2, total - 1))

        some, every, none = (partial(each, every_box, sign="#") for each in (mean.some, mean.every, mean.none))

        def count(test: str) -> str:
            return mean.count(every_box, test, "#")

        def not_every(test: str) -> str:
            return mean.negation(every(test))

        def number(sign: str, limit: int) -> Callable[[str], str]:
            return lambda test: f"{count(test)} {sign} {limit}"

        def most(test: str) -> str:
            return f"{count(test)} > {count(mean.negation(test))}"

        def all_but_one(test: str) -> str:
            return f"{count(mean.negation(test))} == 1"

        def so_many(test: str) -> str:
            return quantity.holds(mean.those(every_box, test, "#"))

        of_all = f"(only|just|exactly) {self.number(part)} (of|out of) the {self.number(total)} {boxes}"
        rows: tuple[tuple[float, tuple[bool, str, Callable[[str], str]]], ...] = (
            (3.0, (False, f"(a|some|at least one) {box}|(one|at least one) of the {boxes}", some)),
            (0.3, (True, f"one or more of the {boxes}", some)),
            (1.7, (False, f"(every|each|every single) {box}|each of the {boxes}", every)),
            (1.7, (True, f"all {boxes}|all the {boxes}{numbered}", every)),
            (1.4, (False, f"(no|not one|not a single) {box}|none of the {boxes}", none)),
            (0.2, (True, f"none of the {boxes}", none)),
            (0.3, (False, f"not every {box}", not_every)),
            (0.5, (True, f"not all {boxes}|not all of the {boxes}", not_every)),
            (
                1.0,
                (
                    False,
                    f"(only|exactly|just) one {box}|a single {box}|(only|exactly) one of the {boxes}",
                    number("==", 1),
                ),
            ),
            (0.8 * rare, (True, f"most {boxes}|(most|the majority|more than half) of the {boxes}", most)),
            (1.2 * rare, (True, f"[exactly] {n} {boxes}|[exactly] {n} of the {boxes}", number("==", value))),
            (
                1.2 * rare,
                (True, f"at least {n} {boxes}|at least {n} of the {boxes}|{n} or more {boxes}", number(">=", value)),
            ),
            (0.6 * rare, (True, f"all [of the] {boxes} but one|all but one of the {boxes}", all_but_one)),
            (0.8 * rare * (is_fixed and total > 2), (part > 1, of_all, number("==", part))),
            (1.8 * rare, (quantity.plural, quantity.of(Kind(box, boxes)), so_many)),
        )
        plural, words, bind = self.weighted(*rows)
        return self.boxes_with(f"({words})", plural, bind)

    def boxes_with(self, words: str, plural: bool, bind: Callable[[str], str]) -> Domain:
        """Boxes with a quantifier: its words, and the program that so many boxes meet a condition on #."""
        words, preposition = self.expand(words), self.pick("in", "in", "in", "inside", "within")
        return Domain("#", f"{preposition} {words}", words, plural, bind, is_quantified=True, box="#")

    def domain(self, *, quantified: float = 0.0) -> Domain:
        """The whole scene, a particular box or, with a chance of `quantified`, boxes with a quantifier."""
        if self.world.boxes[1] == 1:
            return self.scene()
        if self.chance(quantified):
            return self.quantified()
        return self.which() if self.chance(0.4) else self.scene()
