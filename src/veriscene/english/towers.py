"""Rules about towers: their heights, tops, bases and the order of their blocks, of one tower and compared.

Most say a predicate ("has a black block on top", "is three blocks high") of some towers, as predicates.py says them of
items. In a predicate's condition, `#` is the tower.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps

from veriscene.english import meaning as mean
from veriscene.english.boxes import BoxParts
from veriscene.english.clauses import amount
from veriscene.english.meaning import Unfit
from veriscene.english.parts import draws, rules_of
from veriscene.english.pattern import base_form
from veriscene.english.predicates import Predicate, Words, being, having
from veriscene.english.shares import share_of
from veriscene.english.speaker import Domain, Kind, Sentence, Speaker
from veriscene.english.tables import Row, tables
from veriscene.world.schema import Attribute

_TABLES = tables(__name__)

BOXES, ITEMS = mean.ALL_BOXES, mean.ALL_ITEMS
TOP, BOTTOM, UNDER_TOP = "is_top(@)", "is_bottom(@)", "count(get_box_all_above(@)) == 1"
LEVELS = (BOTTOM, "is_second(@)", "is_third(@)", "count(get_box_all_below(@)) == 3")  # from below
TALL, TALLER, SHORTER = "(tall|high)", "(taller|higher)", "(shorter|lower)"

Rule = Callable[[Speaker], Sentence | None]
_Told = tuple[Row, dict[str, str], str]  # what is said of blocks at some place: wordings, words, condition on #


def speak_of_towers(say: Speaker) -> None:
    """Makes a speaker say "tower" and mostly "block", as one does about heights and tops."""
    if (say.box, say.boxes) not in say.lexicon.towers:
        say.box, say.boxes = say.favourite(say.lexicon.towers)
    if (say.item, say.items) not in say.lexicon.blocks and say.chance(0.7):
        say.item, say.items = say.favourite(say.lexicon.blocks)


def about_towers(rule: Rule) -> Rule:
    """Makes a rule speak of towers and blocks."""

    @wraps(rule)
    def prepared(say: Speaker) -> Sentence | None:
        speak_of_towers(say)
        return rule(say)

    return prepared


# ---------------------------------------------------------------- places, blocks and towers


@dataclass(frozen=True)
class Spot:
    """A place in a tower: "on top", and the block there, "top block"."""

    at: str
    block: str
    condition: str  # on the item @
    end: str = ""  # "top" or "base"


def _spot(say: Speaker) -> Spot:
    """The top, the bottom, the middle, or the second from below."""
    row = _TABLES["spots"].draw(say)
    at, block, end, *_ = (each.format(item=say.item) for each in (*row.wordings, ""))
    return Spot(at, block, row.columns[0], end)


def varying(say: Speaker) -> list[Attribute]:
    """The attributes, other than the noun's, whose values differ between the blocks of towers."""
    fixed = dict(say.world.towers.values) if say.world.towers else {}
    found = [each for each in say.world.attributes if each.choices and not each.is_noun]
    return [each for each in found if each.name not in fixed and not each.has_extents] or found


def _value(say: Speaker) -> tuple[str, str]:
    """A word for a property after "is" with its condition."""
    if (options := varying(say)) and say.chance(0.93):
        attribute = say.rng.choice(options)
        choice = say.rng.choice(attribute.choices)
        return say.rng.choice(choice.words), say.has(attribute, choice)
    found = say.property(noun=False)
    return found.singular, found.condition


def _kind(say: Speaker) -> Kind:
    """A kind of block; mostly "black block"."""
    if say.chance(0.2):
        return say.kind(plain=True, generic=0.0)
    word, condition = _value(say)
    if " " in word:
        return Kind(f"{say.item} that is {word}", f"{say.items} that are {word}", condition)
    one, many = (say.item, say.items) if say.chance(0.93) else ("one", "ones")
    return Kind(f"{word} {one}", f"{word} {many}", condition)


def _tower(say: Speaker) -> Domain:
    """One or more towers: the left one, every one, the tallest one, the one with a black block on top."""
    how = say.weighted((4, "particular"), (4.5, "quantified"), (1.2, "superlative"), (0.5, "described"))
    if how == "particular" and say.world.boxes[1] > 1:
        return say.which()
    if how == "quantified":
        return say.quantified()
    if how == "described":
        found = say.pick(_at_spot, _height)(say)
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


def _said_of(where: Domain, condition: str) -> str:
    """The meaning of a condition on a tower, said of a domain."""
    return where.bind(condition.replace("#", where.box))


def the_one(say: Speaker, where: Domain) -> str:
    """ "The left one" for "the left tower"."""
    return where.subject.replace(say.box, "one", 1) if where.subject.endswith(f" {say.box}") else where.subject


# ---------------------------------------------------------------- predicates


def _predicate(say: Speaker, does: Sequence[str], condition: str, after: Sequence[str] = ()) -> Predicate:
    """A predicate of a tower: `does` are wordings with the verb first; `after` those that follow a noun."""
    words = say.expand(say.rng.choice(does))
    verb, _, rest = words.partition(" ")
    many = f"{'are' if verb == 'is' else base_form(verb)[1]} {rest}".replace(" its ", " their ")
    noun = say.expand(say.pick(*after, *after, "(that|which)"))
    is_clause = noun in ("that", "which")
    one, several = (
        f"{noun} {each}" if is_clause else noun.replace(" its ", its)
        for each, its in ((words, " its "), (many, " their "))
    )
    return Predicate(Words(f"~{words}", one, one), Words(f"~{many}", several, several), condition)


def _worded(say: Speaker, condition: str, *rows: str | Row, **words: str) -> Predicate:
    """A predicate in one of the wordings of some rows or tables: those with the verb first, and those after a noun."""
    found = [_TABLES[row] if isinstance(row, str) else row for row in rows]
    does = [text.format(**words) for row in found for text in row.wordings]
    return _predicate(say, does, condition, [text.format(**words) for row in found for text in row.clauses])


def _at_spot(say: Speaker) -> Predicate:
    """ "Has a black block on top"; "stands on a black block"; "whose second block from below is black"."""
    spot, kind, (word, value) = _spot(say), _kind(say), _value(say)
    a, at, block, end = kind.a, spot.at, spot.block, spot.end
    words = {"item": say.item, "word": word, "a": a, "at": at, "block": block, "end": end}
    if say.chance(0.35):
        both = mean.both(value, spot.condition)
        return _worded(say, mean.some("#", both), "spot_value", *["end_value"] * bool(end), **words)
    condition = mean.some("#", mean.both(kind.condition, spot.condition))
    if say.chance(0.1):
        words |= {"X": kind.singular, "Xs": kind.plural}
        return _worded(say, mean.negation(condition), "no_such_block", **words)
    ends = {TOP: ["topped"], BOTTOM: ["standing_on"], UNDER_TOP: ["under_top"], LEVELS[1]: ["on_base"]}
    return _worded(say, condition, "block", *ends.get(spot.condition, []), **words)


def _blocks(say: Speaker) -> tuple[str, str]:
    """A number of blocks, as "at least three blocks", with its test."""
    found = amount(say, 1 if say.chance(0.1) else 2, 5)
    words = say.expand(found.words)
    is_one = words.split()[-1] in ("one", "1")
    return f"{words} {say.item if is_one else say.items}", found.holds("#")


def _height(say: Speaker) -> Predicate:
    """ "Is three blocks high"; "consists of at least two blocks"."""
    blocks, test = _blocks(say)
    tall = "(high|high|tall|tall|in height)"
    names = ["height"]
    for limit, name in (("more than ", "taller"), ("fewer than ", "shorter")):
        names += [name] * (4 * blocks.startswith(limit))
    number = blocks.removeprefix("more than ").removeprefix("fewer than ")
    return _worded(say, test, *names, blocks=blocks, tall=tall, taller=TALLER, shorter=SHORTER, number=number)


def _both_ends(say: Speaker) -> Predicate:
    """ "Has a black block on top and a yellow one at the bottom"; "is black on top and yellow at the bottom"."""
    (first, upper), (second, lower) = _value(say), _value(say)
    condition = mean.both(mean.some("#", mean.both(upper, TOP)), mean.some("#", mean.both(lower, BOTTOM)))
    return _worded(say, condition, "both_ends", first=first, second=second, item=say.item)


def _alone_at(say: Speaker) -> _Told:
    """ "Is black only on top"; "is all black except for the base"; "has a black block, but not on top"."""
    spot, (word, value), row = _spot(say), _value(say), _TABLES["alone_at"].draw(say)
    elsewhere = mean.negation(spot.condition)
    tests = {"there": mean.some("#", mean.both(value, spot.condition)), "somewhere": mean.some("#", value)}
    tests["there_not"] = mean.some("#", mean.both(mean.negation(value), spot.condition))
    tests["elsewhere"] = mean.some("#", mean.both(value, elsewhere))
    tests["all_elsewhere"] = mean.none("#", mean.both(mean.negation(value), elsewhere))
    words = {"word": word, "at": spot.at, "block": spot.block, "item": say.item, "items": say.items}
    return row, words, row.columns[0].format(**tests)


def _stretch(say: Speaker) -> _Told:
    """ "Has two black blocks on top"; "whose top two blocks match in colour"."""
    if not (options := varying(say)):
        return _alone_at(say)
    (word, value), attribute, row = _value(say), say.rng.choice(options), _TABLES["stretch"].draw(say)
    stretch = _TABLES["stretches"].draw(say)
    (condition, n), (blocks, at) = stretch.columns, stretch.wordings
    words = {"k": say.number(int(n)), "items": say.items, "word": word, "c": say.rng.choice(attribute.words)}
    words |= {"blocks": blocks.format_map(words), "at": at, "both": "both" if n == "2" else "all"}
    tests = {"n": n, "those": mean.those("#", mean.both(value, condition))}
    tests["values"] = f"{say.lexicon.names[attribute.name]}({mean.those('#', condition)})"
    return row, words, row.columns[0].format(**tests)


def _some_blocks(say: Speaker) -> Predicate:
    """What is said of the blocks at some place."""
    row, words, condition = say.pick(_alone_at, _stretch)(say)
    return _worded(say, condition, row, **words)


def _all_of_it(say: Speaker) -> Predicate:
    """ "Is all black"; "consists only of black blocks"."""
    kind, (word, value) = _kind(say), _value(say)
    if say.chance(0.5) and " " not in word:
        return _worded(say, mean.every("#", value), "uniform", word=word, item=say.item, items=say.items)
    return _worded(say, mean.every("#", kind.condition), "made_of", Xs=kind.plural)


def _one_value(say: Speaker) -> Predicate:
    """ "Has just one colour"; "has blocks of different colours"; "has two colours"; "does not repeat a colour"."""
    if not (options := varying(say)):
        return _height(say)
    (tests, words), row = _tests_of_values(say, say.rng.choice(options)), _TABLES["values"].draw(say)
    return _worded(say, row.columns[0].format(**tests), row, **words)


def _tests_of_values(say: Speaker, attribute: Attribute) -> tuple[dict[str, str], dict[str, str]]:
    """Conditions on the values of a tower's blocks, and words for them."""
    number = say.pick(2, 2, 3)
    name, word = say.lexicon.names[attribute.name], say.rng.choice(attribute.words)
    above = f"filter_obj(get_directly_above(x1), lambda x0: {name}(x0) == {name}(x1))"
    tests = {"values": f"count({name}(#))", "n": str(number)}
    tests["same_neighbours"] = f"filter_obj(#, lambda x1: exist({above}))"
    tests["changes"] = tests["same_neighbours"].replace("==", "!=")
    below = above.replace("above", "below")
    tests["run"] = f"filter_obj(#, lambda x1: exist({above}) and exist({below}))"
    tests["under_other"] = f"filter_obj(#, lambda x1: is_top(x1) and exist({below.replace('==', '!=')}))"
    opposite = f"count(get_box_all_above(x0)) == count(get_box_all_below(x1)) and {name}(x0) != {name}(x1)"
    tests["unmirrored"] = f"filter_obj(#, lambda x1: exist(filter_obj(#, lambda x0: {opposite})))"
    tests |= {"top": f"{name}({mean.those('#', TOP)})", "bottom": f"{name}({mean.those('#', BOTTOM)})"}
    words = {"c": word, "item": say.item, "items": say.items, "said": say.number(number)}
    words["times"] = "twice" if number == 2 else f"{say.number(number)} times"
    words["ends"] = "(at the top and [at] the bottom|on top and at the bottom|at both ends|on the top and the bottom)"
    words["blocks"] = f"((top and bottom|highest and lowest|first and last) {say.items}|top and base)"
    two = say.rng.sample(attribute.choices, min(2, len(attribute.choices)))
    tests["alternating"] = f"count({name}(#)) == 2 and not exist({tests['same_neighbours']})"
    tests["both"] = mean.both(*(mean.some("#", say.has(attribute, each)) for each in two))
    words |= dict(zip("vw", (say.rng.choice(each.words) for each in two), strict=False))
    return tests, words


def _order(say: Speaker) -> tuple[dict[str, str], str] | None:
    """Words for the values of all blocks of a tower, in a way through it, and the condition on the tower."""
    if not (options := varying(say)):
        return None
    attribute = say.rng.choice(options)
    chosen = [say.rng.choice(attribute.choices) for _ in range(say.pick(2, 2, 3, 3, 3, 4))]
    blocks = [mean.both(say.has(attribute, each), at) for each, at in zip(chosen, LEVELS, strict=False)]
    condition = mean.both(f"count(#) == {len(chosen)}", *(mean.some("#", each) for each in blocks))
    words, row = [say.rng.choice(each.words) for each in chosen], _TABLES["ways"].draw(say)
    words = words[::-1] if row.columns[0] == "down" else words
    listed = say.pick(", ".join(words), f"{', '.join(words[:-1])} and {words[-1]}", ", then ".join(words))
    return {"listed": listed, "way": row.say(say), "c": say.rng.choice(attribute.words), "items": say.items}, condition


def _ordered(say: Speaker) -> Predicate:
    """ "Is black, yellow, black from bottom to top"."""
    if (found := _order(say)) is None:
        return _height(say)
    return _worded(say, found[1], "ordered", **found[0])


def _any_predicate(say: Speaker) -> Predicate:
    """What can be said of a tower."""
    options = ((5, _at_spot), (3, _height), (2, _all_of_it), (4, _one_value), (0.8, _both_ends), (0.7, _ordered))
    return say.weighted(*options, (2.2, _some_blocks))(say)


# ---------------------------------------------------------------- rules: predicates of towers


@about_towers
def particular(say: Speaker) -> Sentence:
    """ "The left tower is three blocks high"; "the tallest tower has a black block on top"."""
    where, found = _tower(say), _any_predicate(say)
    does = found.many.does if where.plural else found.one.does
    texts = [*_TABLES["particular"].wordings]
    if where.subject.startswith("the ") and not where.plural:
        texts += _TABLES["look_at"].wordings
    if where.subject.startswith(("all ", "every ", "each ")):
        texts += _TABLES["whichever"].wordings
    condition = found.condition
    if say.chance(0.15) and not re.search(r",| and ", does) and (also := _any_predicate(say)).condition != condition:
        too = (also.many if where.plural else also.one).does.replace("~", "")
        does, condition, texts = f"{does} and {too}", mean.both(condition, also.condition), ["{here} {does}"]
    words = {"here": where.subject, "does": does, "box": say.box, "boxes": say.boxes}
    text = say.rng.choice(texts).format(all_do=found.many.does, it_does=found.one.does, **words)
    return Sentence(text, _said_of(where, condition))


@about_towers
def general(say: Speaker) -> Sentence | None:
    """ "There are two towers with a black block on top"; "no tower of two blocks has a black top"."""
    found, kind = _any_predicate(say), Kind(say.box, say.boxes)
    if say.chance(0.25):
        other = _any_predicate(say)
        if other.condition == found.condition:
            return None
        kind = kind.that(other.one.that, other.many.that, other.condition.replace("#", "@"))
    found = replace(found, condition=found.condition.replace("#", "@"))
    return share_of(say, Domain(BOXES, "", ""), kind, found, max(2, min(4, say.world.boxes[1])))


@about_towers
def only_tower(say: Speaker) -> Sentence | None:
    """ "Only the left tower is three blocks high"; "every tower except the left one has a black top"."""
    if say.world.boxes[1] < 2:
        return None
    where, found = say.which(), _any_predicate(say)
    box, boxes, one, here = say.box, say.boxes, the_one(say, where), found.condition.replace("#", where.box)
    if say.chance(0.7):
        words = {"here": where.subject, "box": box, "that": found.one.that, "does": found.one.does}
        meaning = mean.both(here, f"{mean.count(BOXES, found.condition, '#')} == 1")
        return Sentence(_TABLES["only_tower"].say(say, **words), meaning)
    if say.chance(0.5):
        text = f"(all the other {boxes}|the other {boxes}|the others) {found.many.does}, but not {one}"
        others = f"{mean.count(BOXES, mean.negation(found.condition), '#')} == 1"
        return Sentence(text, mean.both(mean.negation(here), others))
    is_other = say.chance(0.2)
    but = f"other than {one}" if is_other else f"(except|but|except for|apart from) {one}"
    text = say.pick(f"(every|each) {box} {but} {found.one.does}", f"(all|all the) {boxes} {but} {found.many.does}")
    others = mean.none(BOXES, mean.both(f"# != {where.box}", mean.negation(found.condition)), "#")
    return Sentence(text, others if is_other else mean.both(mean.negation(here), others))


@about_towers
def block_at(say: Speaker) -> Sentence:
    """ "The top block of every tower is black"; "a black block sits on top of the left tower"."""
    where, spot, kind, (word, value) = _tower(say), _spot(say), _kind(say), _value(say)
    towers, a = where.subject, kind.a
    texts = [*_TABLES["block_at"].wordings]
    words = {"towers": towers, "a": a, "block": spot.block, "end": spot.end, "spot": spot.at}
    if spot.end:
        texts += _TABLES["end_of"].wordings
    if spot.condition in (TOP, BOTTOM):
        texts += _TABLES["at_end"].wordings
        words |= {"at": "(on top|at the very top)", "forms": "(crowns|tops|forms the top of)"}
        if spot.condition == BOTTOM:
            words |= {"at": "at the [very] (bottom|base|foot)", "forms": "forms the (base|bottom|foundation) of"}
    if not where.is_quantified:
        texts += _TABLES["of_one_tower"].wordings
    if where.is_negative:
        texts = [f"{towers} ~{'have' if where.plural else 'has'} {a} {spot.at}"]
    text = say.expand(say.rng.choice(texts).format(**words))
    condition = value if "WORD" in text else kind.condition
    return Sentence(text.replace("WORD", word), _said_of(where, mean.some("#", mean.both(condition, spot.condition))))


@about_towers
def blocks_of(say: Speaker) -> Sentence | None:
    """ "The top two blocks of the left tower match in colour"; "only the base of the tallest tower is black"."""
    where, (row, words, condition) = _tower(say), say.pick(_alone_at, _stretch)(say)
    if where.is_negative or where.plural:  # blocks of all towers could match one another
        return None
    return Sentence(row.words["told"].format(**words, towers=where.subject), _said_of(where, condition))


@about_towers
def height_of(say: Speaker) -> Sentence:
    """ "The height of the left tower is three blocks"; "two blocks make up the shortest tower"."""
    where, (blocks, test) = _tower(say), _blocks(say)
    words = {"towers": where.subject, "blocks": blocks, "has": "have" if where.plural else "has"}
    if not where.is_negative:
        words |= {"any": where.subject}
        if not where.plural:  # "there are three blocks in all towers" could be about all of them together
            is_one = blocks.endswith(f" {say.item}")
            words |= {"one": where.subject, "s": "s" if is_one else "", "are": "is" if is_one else "are"}
    return Sentence(_TABLES["height_of"].say(say, **words), _said_of(where, test))


@about_towers
def in_order(say: Speaker) -> Sentence | None:
    """ "From bottom to top, the left tower is black, yellow, black"."""
    if (found := _order(say)) is None:
        return None
    (slots, condition), where = found, _tower(say)
    slots |= {"towers": where.subject, "be": "are" if where.plural else "is", "have": "have" if where.plural else "has"}
    slots |= {} if where.is_quantified else {"one": where.subject}
    return Sentence(_TABLES["in_order"].say(say, **slots), _said_of(where, condition))


@about_towers
def alternating(say: Speaker) -> Sentence | None:
    """ "The colours of the left tower alternate"; "black and yellow alternate in every tower"."""
    if not (options := varying(say)):
        return None
    where, row = _tower(say), _TABLES["alternating"].draw(say)
    tests, words = _tests_of_values(say, say.rng.choice(options))
    text = row.say(say, **words, towers=where.subject, at=where.where)
    return Sentence(text, _said_of(where, row.columns[0].format(**tests)))


# ---------------------------------------------------------------- rules: blocks


@about_towers
def blocks(say: Speaker) -> Sentence:
    """ "Every black block is at the top of its tower"; "no black block is directly on a yellow one"."""
    kind, other, spot = _kind(say), _kind(say), _spot(say)
    thing = f"another {kind.singular}" if other.condition == kind.condition else other.a
    row, below, above = _TABLES["block_places"].draw(say), "get_directly_below(@)", "get_directly_above(@)"
    on, under = mean.some(below, other.condition), mean.some(above, other.condition)
    condition = row.columns[1].format(spot=spot.condition, below=below, above=above, on=on, under=under)
    words = row.say(say, thing=thing, block=spot.block, box=say.box, item=say.item)
    found = (
        having(words, condition)
        if row.columns[0] == "has"
        else being(words, condition, verbs=row.columns[0] == "placed")
    )
    where = Domain(ITEMS, "", "") if say.chance(0.8) else say.domain()
    return share_of(say, where, kind, found, 4)


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
    *((6.0, particular), (5.0, general), (2.8, only_tower), (5.0, block_at), (1.5, height_of), (2.0, blocks_of)),
    *((2.5, in_order), (1.2, alternating), (5.5, blocks)),
    *rules_of(_TABLES, _TowerParts, heights=3.5, extremes=3.0, all_heights=3.0, ends_compared=3.0, orders=1.5),
)
