"""Rules about towers: their heights, tops, bases and the order of their blocks, of one tower and compared.

Most say a predicate ("has a black block on top", "is three blocks high") of some towers, as predicates.py says them of
items. In a predicate's condition, `#` is the tower.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property

from veriscene.english import meaning as mean
from veriscene.english.boxes import BoxParts
from veriscene.english.clauses import EACH_BOX, amount
from veriscene.english.contents import at
from veriscene.english.meaning import Unfit
from veriscene.english.parts import Parts, draws, rules_of
from veriscene.english.pattern import base_form
from veriscene.english.predicates import Predicate, Words, being, having
from veriscene.english.shares import share_of
from veriscene.english.speaker import Domain, Kind, Sentence, Speaker
from veriscene.english.tables import Row, tables
from veriscene.world.schema import Attribute

_TABLES = tables(__name__)

BOXES, ITEMS = mean.ALL_BOXES, mean.ALL_ITEMS
TOP, BOTTOM = "is_top(@)", "is_bottom(@)"
LEVELS = (BOTTOM, "is_second(@)", "is_third(@)", "count(get_box_all_below(@)) == 3")  # from below
TALL, TALLER, SHORTER = "(tall|high)", "(taller|higher)", "(shorter|lower)"
# Tables of predicates: wordings with the verb first and, after "+", those that follow a noun.
_PREDICATES = {"at_spot": 5, "height": 3, "all_of_it": 2, "values": 4, "both_ends": 0.8, "ordered": 0.7}
_PREDICATES |= (_SOME_BLOCKS := {"alone_at": 1.1, "stretch": 1.1})


def speak_of_towers(say: Speaker) -> None:
    """Makes a speaker say "tower" and mostly "block", as one does about heights and tops."""
    if (say.box, say.boxes) not in say.lexicon.towers:
        say.box, say.boxes = say.favourite(say.lexicon.towers)
    if (say.item, say.items) not in say.lexicon.blocks and say.chance(0.7):
        say.item, say.items = say.favourite(say.lexicon.blocks)


def varying(say: Speaker) -> list[Attribute]:
    """Returns the attributes, other than the noun's, whose values differ between the blocks of towers."""
    fixed = dict(say.world.towers.values) if say.world.towers else {}
    found = [each for each in say.world.attributes if each.choices and not each.is_noun]
    return [each for each in found if each.name not in fixed and not each.has_extents] or found


# ---------------------------------------------------------------- blocks of a tower


class _Blocks(Parts):
    """What is said of the blocks of the tower #.

    {at}, {block} and {end} are words for a place in it, {x} and {Xs} a kind of block, {word} a value: {exist x there}
    and {exist word there} are about that place, {exist word elsewhere} about all others, {exist unlike there} about
    blocks without the value. {second} is another value. {blocks} are so many, as {so_high} says. The {k} blocks of a
    {stretch} are {on_end}: {count word stretch}, {those_values}. {c} is an attribute, {v} and {w} are two of its
    values: {values} is the number of the tower's, {alternating} says that they take turns, {same_neighbours} and so on
    are blocks. {listed} are the values of all blocks in a {way} through the tower, as {in_order} says.
    """

    def __init__(self, say: Speaker, row: Row, where: Domain = EACH_BOX) -> None:
        super().__init__(say, row, where)
        del self["at"]
        self |= {"tall": "(high|high|tall|tall|in height)", "taller": TALLER, "shorter": SHORTER}
        self.places = {"top": TOP, "bottom": BOTTOM}

    def kind(self, name: str) -> Kind:
        if name in ("word", "unlike", "second") and name not in self.kinds:
            self.draw("second" if name == "second" else "word")
        return super().kind(name)

    def meant(self, what: str, name: str, place: str = "") -> str:
        if place in ("there", "elsewhere", "stretch") and place not in self.places:
            self.draw("stretch" if place == "stretch" else "block")
        if (condition := self.places.get(place)) is None:
            return super().meant(what, name, place)
        return f"{what}({self.kind(name).among('#', condition)})"

    def one_kind(self) -> Kind:
        """A kind of block; mostly "black block"."""
        say = self.say
        if say.chance(0.2):
            return say.kind(plain=True, generic=0.0)
        word, condition = _value(say)
        if " " in word:
            return Kind(f"{say.item} that is {word}", f"{say.items} that are {word}", condition)
        one, many = (say.item, say.items) if say.chance(0.93) else ("one", "ones")
        return Kind(f"{word} {one}", f"{word} {many}", condition)

    @draws("at block end is_top is_bottom is_under_top is_second at_end forms")
    def draw_spot(self) -> None:
        row = _TABLES["spots"].draw(self.say)
        names = zip(("at", "block", "end"), row.wordings, strict=False)
        self |= {name: words.format_map(self) for name, words in names} | dict(row.words)
        self.places |= {"there": row.columns[0], "elsewhere": mean.negation(row.columns[0])}

    @draws("word adjective")
    def draw_value(self) -> None:
        word, condition = _value(self.say)
        self.kinds |= {"word": Kind(word, word, condition), "unlike": Kind("", "", mean.negation(condition))}
        self |= {"word": word} if " " in word else {"word": word, "adjective": word}

    @draws("second")
    def draw_second(self) -> None:
        self["second"], condition = _value(self.say)
        self.kinds["second"] = Kind("", "", condition)

    @draws("blocks so_high are s more_than fewer_than")
    def draw_height(self) -> None:
        """ "At least three blocks"; "more than two blocks", thus taller than two."""
        found = amount(self.say, 1 if self.say.chance(0.1) else 2, 5)
        words = self.say.expand(found.words)
        noun, are, s = (self.say.item, "is", "s") if words.split()[-1] in ("one", "1") else (self.say.items, "are", "")
        self |= {"blocks": f"{words} {noun}", "so_high": found.holds("#"), "are": are, "s": s}
        for limit in ("more than", "fewer than"):
            if words.startswith(f"{limit} "):
                self[limit.replace(" ", "_")] = self["blocks"].removeprefix(f"{limit} ")

    @draws("n N times")
    def draw_number(self) -> None:
        self.add_number("n", self.say.pick(2, 2, 3))
        self["times"] = "twice" if self["N"] == "2" else f"{self['n']} times"

    @draws("stretch on_end k K both those_values")
    def draw_stretch(self) -> None:
        row = _TABLES["stretches"].draw(self.say)
        self.places["stretch"] = row.columns[0]
        self.add_number("k", int(row.columns[1]))
        self |= {"stretch": row.wordings[0].format_map(self), "on_end": row.wordings[1]}
        self |= {"both": "both" if self["K"] == "2" else "all"}
        self["those_values"] = f"count({self.function}({mean.those('#', row.columns[0])}))"

    @cached_property
    def attribute(self) -> Attribute:
        if not (options := varying(self.say)):
            raise Unfit
        return self.say.rng.choice(options)

    @property
    def function(self) -> str:
        return self.say.lexicon.names[self.attribute.name]

    @draws("c")
    def draw_attribute(self) -> None:
        self["c"] = self.say.rng.choice(self.attribute.words)

    @draws("v w both_values")
    def draw_two_values(self) -> None:
        two = self.say.rng.sample(self.attribute.choices, min(2, len(self.attribute.choices)))
        self |= dict(zip("vw", (self.say.rng.choice(each.words) for each in two), strict=False))
        self["both_values"] = mean.both(*(mean.some("#", self.say.has(self.attribute, each)) for each in two))

    @draws("values same_neighbours changes run under_other unmirrored top_value bottom_value alternating")
    def draw_tests(self) -> None:
        name = self.function
        above = f"filter_obj(get_directly_above(x1), lambda x0: {name}(x0) == {name}(x1))"
        below = above.replace("above", "below")
        same = f"filter_obj(#, lambda x1: exist({above}))"
        opposite = f"count(get_box_all_above(x0)) == count(get_box_all_below(x1)) and {name}(x0) != {name}(x1)"
        self |= {"values": f"count({name}(#))", "same_neighbours": same, "changes": same.replace("==", "!=")}
        self["run"] = f"filter_obj(#, lambda x1: exist({above}) and exist({below}))"
        self["under_other"] = f"filter_obj(#, lambda x1: is_top(x1) and exist({below.replace('==', '!=')}))"
        self["unmirrored"] = f"filter_obj(#, lambda x1: exist(filter_obj(#, lambda x0: {opposite})))"
        self |= {f"{end}_value": f"{name}({mean.those('#', self.places[end])})" for end in ("top", "bottom")}
        self["alternating"] = f"count({name}(#)) == 2 and not exist({same})"

    @draws("listed way in_order")
    def draw_order(self) -> None:
        say, attribute = self.say, self.attribute
        chosen = [say.rng.choice(attribute.choices) for _ in range(say.pick(2, 2, 3, 3, 3, 4))]
        blocks = [mean.both(say.has(attribute, each), at) for each, at in zip(chosen, LEVELS, strict=False)]
        self["in_order"] = mean.both(f"count(#) == {len(chosen)}", *(mean.some("#", each) for each in blocks))
        words, row = [say.rng.choice(each.words) for each in chosen], _TABLES["ways"].draw(say)
        words = words[::-1] if row.columns[0] == "down" else words
        listed = say.pick(", ".join(words), f"{', '.join(words[:-1])} and {words[-1]}", ", then ".join(words))
        self |= {"listed": listed, "way": row.say(say)}


def _value(say: Speaker) -> tuple[str, str]:
    """A word for a property after "is" with its condition."""
    if (options := varying(say)) and say.chance(0.93):
        attribute = say.rng.choice(options)
        choice = say.rng.choice(attribute.choices)
        return say.rng.choice(choice.words), say.has(attribute, choice)
    found = say.property(noun=False)
    return found.singular, found.condition


def _predicate(say: Speaker, **tables: float) -> Predicate:
    """What can be said of a tower by a row of one of the tables."""
    row = _TABLES[say.rng.choices(list(tables), list(tables.values()))[0]].draw(say)
    parts = _Blocks(say, row)
    words = say.expand(parts.worded(row.wordings))
    noun = say.expand(parts.worded([*row.clauses, *row.clauses, "(that|which)"]))
    verb, _, rest = words.partition(" ")
    many = f"{'are' if verb == 'is' else base_form(verb)[1]} {rest}".replace(" its ", " their ")
    is_clause = noun in ("that", "which")
    one, several = (
        f"{noun} {each}" if is_clause else noun.replace(" its ", its)
        for each, its in ((words, " its "), (many, " their "))
    )
    return Predicate(Words(f"~{words}", one, one), Words(f"~{many}", several, several), parts.test())


# ---------------------------------------------------------------- rules about towers


def _tower(say: Speaker) -> Domain:
    """One or more towers: the left one, every one, the tallest one, the one with a black block on top."""
    how = say.weighted((4, "particular"), (4.5, "quantified"), (1.2, "superlative"), (0.5, "described"))
    if how == "particular" and say.world.boxes[1] > 1:
        return say.which()
    if how == "quantified":
        return say.quantified()
    if how == "described":
        found = _predicate(say, at_spot=1, height=1)
        box = f"unique({mean.those(BOXES, found.condition, '#')})"
        words = say.expand(f"(the|the|the only) {say.box} {found.one.that}")
        return Domain(box, f"in {words}", words, box=box)
    words, sign = say.pick(
        (f"(tallest|highest|biggest) {say.box}|{say.box} with the most {say.items}", ">"),
        (f"(shortest|lowest|smallest) {say.box}|{say.box} with the fewest {say.items}", "<"),
    )
    words = say.expand(f"the ({words})")
    extreme = mean.none(BOXES, f"count(#) {sign} count($)", "#").replace("$", "#")

    def bind(meaning: str) -> str:
        """If several towers are the tallest, it is said of each."""
        return mean.none(BOXES, mean.both(extreme, mean.negation(meaning)), "#")

    return Domain("#", f"in {words}", words, bind=bind, box="#")


class _OfTower(_Blocks):
    """What is said of one or more {towers}, {in_towers}; they are called {any} or {no_tower} without and with a
    negation, {one} if they are also singular, {particular} without a quantifier, {the_tower} if it is one. Wordings
    with {all_of_them} are about all towers. {does} says a {predicate}, {it_does} of one, {they_do} of several, and
    {too} says {another} one."""

    def __init__(self, say: Speaker, row: Row) -> None:
        speak_of_towers(say)
        super().__init__(say, row, _tower(say))
        where = self.where
        be, have = ("are", "have") if where.plural else ("is", "has")
        self |= {"towers": where.subject, "in_towers": where.where, "be": be, "have": have}
        fits = {
            "any": not where.is_negative,
            "no_tower": where.is_negative,
            "one": not where.is_negative and not where.plural,
            "particular": not where.is_quantified,
            "the_tower": where.subject.startswith("the ") and not where.plural,
        }
        self |= {name: where.subject for name, is_fit in fits.items() if is_fit}
        if where.subject.startswith(("all ", "every ", "each ")) and " but " not in where.subject:
            self["all_of_them"] = ""

    @draws("predicate it_does they_do does another too")
    def draw_predicate(self) -> None:
        found = _predicate(self.say, **_PREDICATES)
        does = found.many.does if self.where.plural else found.one.does
        self |= {"does": does, "it_does": found.one.does, "they_do": found.many.does}
        self["predicate"] = mean.closed(found.condition)
        if self.names("another"):
            also = _predicate(self.say, **_PREDICATES)
            if also.condition == found.condition or re.search(r",| and ", does):
                raise Unfit
            self["too"] = (also.many if self.where.plural else also.one).does.replace("~", "")
            self["another"] = mean.closed(also.condition)

    def test(self) -> str:
        return super().test().replace("#", self.where.box)


def blocks_of(say: Speaker) -> Sentence | None:
    """Says "The top two blocks of the left tower match in colour"; "only the base of the tallest tower is black"."""
    row = _TABLES[say.pick(*_SOME_BLOCKS)].draw(say)
    parts = _OfTower(say, row)
    if parts.where.is_negative or parts.where.plural:  # blocks of all towers could match one another
        return None
    return Sentence(parts.worded([row.words["told"]]), parts.where.bind(parts.test()))


class _OnlyTower(BoxParts):
    """What is said of only one tower, {here}, or of all but {the_one}: {does} and {do} say a predicate, {tested} is
    its test, {untested} the opposite, and {tested here} is said of the one tower."""

    def __init__(self, say: Speaker, row: Row) -> None:
        speak_of_towers(say)
        super().__init__(say, row)
        where, found = say.which(), _predicate(say, **_PREDICATES)
        self.places["here"], self["here"] = where, where.subject
        is_short = where.subject.endswith(f" {say.box}")
        self["the_one"] = where.subject.replace(say.box, "one", 1) if is_short else where.subject
        self |= {"that": found.one.that, "does": found.one.does, "do": found.many.does}
        self |= {"tested": found.condition, "untested": mean.negation(found.condition)}

    def meant(self, what: str, name: str, place: str = "") -> str:
        is_test = what in ("tested", "untested")
        return at(self[what], self.items_in(name)) if is_test else super().meant(what, name, place)


def general(say: Speaker) -> Sentence | None:
    """Says "There are two towers with a black block on top"; "no tower of two blocks has a black top"."""
    speak_of_towers(say)
    found, kind = _predicate(say, **_PREDICATES), Kind(say.box, say.boxes)
    if say.chance(0.25):
        other = _predicate(say, **_PREDICATES)
        if other.condition == found.condition:
            return None
        kind = kind.that(other.one.that, other.many.that, other.condition.replace("#", "@"))
    found = replace(found, condition=found.condition.replace("#", "@"))
    return share_of(say, Domain(BOXES, "", ""), kind, found, max(2, min(4, say.world.boxes[1])))


class _Neighbours(_Blocks):
    """Blocks that are {on} or {under} {thing}, or at a {spot}."""

    def __init__(self, say: Speaker, row: Row) -> None:
        super().__init__(say, row)
        self.subject, other = self.one_kind(), self.one_kind()
        self["thing"] = f"another {other.singular}" if other.condition == self.subject.condition else other.a
        self |= {"below": "get_directly_below(@)", "above": "get_directly_above(@)"}
        self |= {"on": mean.some(self["below"], other.condition), "under": mean.some(self["above"], other.condition)}

    @draws("spot")
    def draw_place(self) -> None:
        self.draw("block")
        self["spot"] = self.places["there"]


def blocks(say: Speaker) -> Sentence:
    """Says "Every black block is at the top of its tower"; "no black block is directly on a yellow one"."""
    speak_of_towers(say)
    row = _TABLES["block_places"].draw(say)
    parts, how = _Neighbours(say, row), row.words["how"]
    words, condition = parts.worded(row.wordings), parts.test()
    found = having(words, condition) if how == "has" else being(words, condition, verbs=how == "placed")
    where = Domain(ITEMS, "", "") if say.chance(0.8) else say.domain()
    return share_of(say, where, parts.subject, found, 4)


# ---------------------------------------------------------------- rules that compare towers


class _TowerParts(BoxParts):
    """Parts of rules that compare towers: {height here} is that of a particular tower, {by} and {more} are numbers of
    blocks; {ends} are the values {c} of the blocks {at} an end of all towers, {end here} that of one tower."""

    def __init__(self, say: Speaker, row: Row) -> None:
        speak_of_towers(say)
        super().__init__(say, row)
        same = f"(equally {TALL}|the same height|of (the same|equal) height)"
        self |= {"tall": TALL, "taller": TALLER, "shorter": SHORTER, "two": "(at least two|two or more)", "same": same}
        self["alike"] = f"~(are {same}|{_TABLES['alike'].say(say, items=say.items)})"
        self |= row.words

    def meant(self, what: str, name: str, place: str = "") -> str:
        if what == "height":
            return f"count({self.items_in(name)})"
        if what == "end":
            return f"{self.value}({mean.those(self.items_in(name), self.end)})"
        if what in ("top", "bottom"):
            return f"{self.value}({mean.those(self.items_in(name), TOP if what == 'top' else BOTTOM)})"
        if what == "with_bottom":  # the items of another tower with the value of the base
            base = mean.related(self.items_in(name), f"is_bottom(@) and {self.value}(@) == {self.value}($)")
            return mean.those(self.items_in(place), f"exist({base})")
        if what == "ordered":
            here, there = self.items_in("here"), self.items_in("there")
            level = f"count(get_box_all_{'below' if name == 'same' else 'above'}(@)) == count(get_box_all_below($))"
            unlike = mean.related(there, f"{level} and {self.value}(@) != {self.value}($)")
            return f"(count({here}) == count({there}) and not exist({mean.those(here, f'exist({unlike})')}))"
        if what == "heights":  # from left to right
            low, high = self.say.world.boxes
            if not low == high <= 4:
                raise Unfit
            return f" {name} ".join(f"count({BOXES}[{at}])" for at in range(high))
        return super().meant(what, name, place)

    @draws("by more")
    def draw_blocks(self) -> None:
        noun = self.say.item if self["N"] == "1" else self.say.items
        self |= {"by": f"{self['n']} {noun}", "more": f"{self['n']} more {noun}"}

    @draws("c top tops")
    def draw_ends(self) -> None:
        if not (options := varying(self.say)):
            raise Unfit
        attribute, end = self.say.rng.choice(options), _TABLES["ends"].draw(self.say)
        self |= dict(zip(("top", "tops", "at"), (each.format_map(self) for each in end.wordings), strict=True))
        self.value, self.end = self.say.lexicon.names[attribute.name], end.columns[0]
        self["c"] = self.say.rng.choice(attribute.words)


RULES = (
    *((5.0, general), (2.0, blocks_of), (5.5, blocks)),
    *rules_of(_TABLES, _OfTower, particular=6.0, block_at=5.0, height_of=1.5, in_order=2.5, alternating=1.2),
    *rules_of(_TABLES, _OnlyTower, only_tower=2.8),
    *rules_of(_TABLES, _TowerParts, heights=3.5, extremes=3.0, all_heights=3.0, ends_compared=3.0, orders=1.5),
)
