"""Rules about towers: their heights, tops, bases and the order of their blocks, of one tower and compared.

Most say a predicate ("has a black block on top", "is three blocks high") of some towers, as predicates.py says them of
items. In a predicate's condition, `#` is the tower.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import wraps

from veriscene.english import meaning as mean
from veriscene.english.clauses import amount
from veriscene.english.pattern import base_form
from veriscene.english.predicates import Predicate, Words, being, having
from veriscene.english.shares import share_of
from veriscene.english.speaker import Domain, Kind, Sentence, Speaker
from veriscene.english.tables import Row, tables
from veriscene.english.words import ORDINALS
from veriscene.world.schema import Attribute

_TABLES = tables(__name__)

BOXES, ITEMS = mean.ALL_BOXES, mean.ALL_ITEMS
TOP, BOTTOM = "is_top(@)", "is_bottom(@)"
LEVELS = (BOTTOM, "is_second(@)", "is_third(@)", "count(get_box_all_below(@)) == 3")  # from below
AT_TOP, AT_BOTTOM = "(on top|at the [very] top)", "(at the [very] bottom|at the base)"
TALL, TALLER, SHORTER = "(tall|high)", "(taller|higher)", "(shorter|lower)"

Rule = Callable[[Speaker], Sentence | None]


def about_towers(rule: Rule) -> Rule:
    """Makes a rule say "tower" and mostly "block", as one does about heights and tops."""

    @wraps(rule)
    def prepared(say: Speaker) -> Sentence | None:
        if (say.box, say.boxes) not in say.lexicon.towers:
            say.box, say.boxes = say.favourite(say.lexicon.towers)
        if (say.item, say.items) not in say.lexicon.blocks and say.chance(0.7):
            say.item, say.items = say.favourite(say.lexicon.blocks)
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
    item, number = say.item, say.pick(2, 2, 3, 4)
    nth, above, below = ORDINALS[number], "", ""
    if number == 2:
        above = f"|{item} (right|just|directly) (below|under) the top (one|{item})"
        below = f"|{item} (right|just|directly|immediately) (above|on top of) the (base|bottom one|lowest {item})"
    up, down = "(the bottom|below)", "the top"
    return say.weighted(
        (6, Spot(f"({AT_TOP}|on the top|up top)", f"(top|topmost|uppermost|highest) {item}", TOP, "(top|peak|summit)")),
        (5, Spot(f"({AT_BOTTOM}|on the bottom|down at the bottom)", f"(bottom|lowest|bottommost) {item}", BOTTOM,
                 "(base|bottom|foundation)")),
        (2.5, Spot(f"({nth} from {up}|in the {nth} (place|position) from {up})",
                   f"({nth} {item} [counted] from {up}|{nth}-lowest {item}|{nth} {item} up{below})",
                   LEVELS[number - 1])),
        (1, Spot(f"({nth} from {down}|in the {nth} (place|position) from {down})",
                 f"({nth} {item} [counted] from {down}|{nth}-highest {item}{above})",
                 f"count(get_box_all_above(@)) == {number - 1}")),
        (1, Spot("(exactly|right|precisely) in the middle", f"(middle|middle|central) {item}",
                 "count(get_box_all_above(@)) == count(get_box_all_below(@))")),
    )  # fmt: skip


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
    ends = {TOP: ["topped"], BOTTOM: ["standing_on"]}
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
    ends, tops = f"{first} {AT_TOP} and {second} {AT_BOTTOM}", f"a {first} top and a {second} (base|bottom)"
    blocks = f"a {first} {say.item} {AT_TOP} and a {second} (one|{say.item}) {AT_BOTTOM}"
    does = [f"has {blocks}", f"has {tops}", f"is {ends}", f"has {ends}"]
    return _predicate(say, does, condition, [f"with {tops}", f"with {ends}"])


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
    attribute, number = say.rng.choice(options), say.pick(2, 2, 3)
    name, word = say.lexicon.names[attribute.name], say.rng.choice(attribute.words)
    above = f"filter_obj(get_directly_above(x1), lambda x0: {name}(x0) == {name}(x1))"
    tests = {"values": f"count({name}(#))", "n": number, "same_neighbours": f"filter_obj(#, lambda x1: exist({above}))"}
    tests |= {"top": f"{name}({mean.those('#', TOP)})", "bottom": f"{name}({mean.those('#', BOTTOM)})"}
    words = {"c": word, "item": say.item, "items": say.items, "said": say.number(number)}
    words["ends"] = "(at the top and [at] the bottom|on top and at the bottom|at both ends|on the top and the bottom)"
    words["blocks"] = f"((top and bottom|highest and lowest|first and last) {say.items}|top and base)"
    row = _TABLES["values"].draw(say)
    return _worded(say, row.columns[0].format(**tests), row, **words)


def _any_predicate(say: Speaker) -> Predicate:
    """What can be said of a tower."""
    options = ((5, _at_spot), (3, _height), (2, _all_of_it), (3, _one_value), (0.8, _both_ends))
    return say.weighted(*options)(say)


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
    words = {"here": where.subject, "does": does, "box": say.box, "boxes": say.boxes}
    text = say.rng.choice(texts).format(all_do=found.many.does, it_does=found.one.does, **words)
    return Sentence(text, _said_of(where, found.condition))


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
    return Sentence(*share_of(say, Domain(BOXES, "", ""), kind, found, max(2, min(4, say.world.boxes[1]))))


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
    but = f"(except|but|except for|apart from|other than) {one}"
    text = say.pick(f"(every|each) {box} {but} {found.one.does}", f"(all|all the) {boxes} {but} {found.many.does}")
    return Sentence(text, mean.none(BOXES, mean.both(f"# != {where.box}", mean.negation(found.condition)), "#"))


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
def height_of(say: Speaker) -> Sentence:
    """ "The height of the left tower is three blocks"; "two blocks make up the shortest tower"."""
    where, (blocks, test) = _tower(say), _blocks(say)
    towers, is_one = where.subject, blocks.endswith(f" {say.item}")
    texts = [f"the height of {towers} ~is {blocks}"]
    if not where.plural:  # "there are three blocks in all towers" could be about all of them together
        texts += [f"{blocks} ~make{'s' if is_one else ''} up {towers}", f"in {towers}, (I|you|we) ~count {blocks}"]
        texts += [f"in {towers}[,] there ~{'is' if is_one else 'are'} {blocks}"]
    if not where.is_quantified:
        texts += [f"height of {towers}: {blocks}"]
    if where.is_negative:
        texts = [f"{towers} ~{'have' if where.plural else 'has'} {blocks}"]
    return Sentence(say.pick(*texts), _said_of(where, test))


@about_towers
def in_order(say: Speaker) -> Sentence | None:
    """ "From bottom to top, the left tower is black, yellow, black"."""
    if not (options := varying(say)):
        return None
    where, attribute = _tower(say), say.rng.choice(options)
    chosen = [say.rng.choice(attribute.choices) for _ in range(say.pick(2, 2, 3, 3, 3, 4))]
    blocks = [mean.both(say.has(attribute, each), at) for each, at in zip(chosen, LEVELS, strict=False)]
    condition = mean.both(f"count(#) == {len(chosen)}", *(mean.some("#", each) for each in blocks))
    words = [say.rng.choice(each.words) for each in chosen]
    way = "from (bottom to top|the bottom up|the ground up|base to top)"
    if say.chance(0.4):
        words, way = words[::-1], "from (top to bottom|the top down)"
    listed = say.pick(", ".join(words), f"{', '.join(words[:-1])} and {words[-1]}", ", then ".join(words))
    be = "are" if where.plural else "is"
    texts = [f"{way}, {where.subject} ~{be} {listed}", f"{where.subject} ~{be} {listed} {way}"]
    if not where.is_quantified:
        texts += [f"{where.subject}, {way}: {listed}", f"{where.subject} ~goes {listed} {way}"]
        texts += [f"{way}, {where.subject} ~(goes|reads) {listed}"]
    return Sentence(say.pick(*texts), _said_of(where, condition))


# ---------------------------------------------------------------- rules: blocks


@about_towers
def blocks(say: Speaker) -> Sentence:
    """ "Every black block is at the top of its tower"; "no black block is directly on a yellow one"."""
    kind, other, spot = _kind(say), _kind(say), _spot(say)
    thing = f"another {kind.singular}" if other.condition == kind.condition else other.a
    onto = "((directly|right|immediately) (on|on top of|above)|resting on|sitting on|placed directly on)"
    under = "((directly|right|immediately) (under|below|beneath)|just underneath)"
    below, above = (f"get_directly_{each}(@)" for each in ("below", "above"))
    upon, beneath = "on top of <it>", "(under|below|beneath) <it>"
    its, something = f"(<its>|a) {say.box}", f"(something|another {say.item}|a {say.item})"
    found = say.weighted(
        (1, being(f"(at the [very] top|on top) of {its}", TOP)),
        (1, being(f"at the ([very] bottom|base) of {its}", BOTTOM)),
        (1, being(f"the {spot.block} of <its> {say.box}", spot.condition, verbs=False, that="{}")),
        (4, being(f"{onto} {thing}", mean.some(below, other.condition), verbs=False)),
        (2, being(f"{under} {thing}", mean.some(above, other.condition), verbs=False)),
        (0.8, having(f"{thing} (directly|right|immediately) below <it>", mean.some(below, other.condition))),
        (0.3, having(f"{something} {upon}", f"exist({above})")),
        (0.3, having(f"{something} {beneath}", f"exist({below})")),
        (0.3, having(f"nothing {upon}", f"not exist({above})")),
        (0.3, having(f"nothing {beneath}", f"not exist({below})")),
    )
    where = Domain(ITEMS, "", "") if say.chance(0.8) else say.domain()
    return Sentence(*share_of(say, where, kind, found, 4))


# ---------------------------------------------------------------- rules that compare towers


def _words(say: Speaker) -> dict[str, str]:
    """Words for all wordings about heights."""
    words = {"box": say.box, "boxes": say.boxes, "items": say.items, "two": "(at least two|two or more)"}
    return words | {"tall": TALL, "taller": TALLER, "shorter": SHORTER}


@about_towers
def compared_heights(say: Speaker) -> Sentence | None:
    """ "The left tower is two blocks taller than the right one"; "… has twice as many blocks as the right one"."""
    if len(say.lexicon.distinct_places) < 2:
        return None
    (first, second), value = say.two_places(), say.small(1, 3)
    noun, n = say.items if value > 1 else say.item, say.number(value)
    there = say.pick(second.subject, the_one(say, second))
    row = _TABLES["heights"].draw(say)
    words = {"here": first.subject, "there": there, "n": n, "by": f"{n} {noun}", "more": f"{n} more {noun}"}
    meaning = row.columns[0].format(a=f"count({first.box})", b=f"count({second.box})", value=value)
    return Sentence(row.say(say, **words, **_words(say)), meaning)


@about_towers
def extreme(say: Speaker) -> Sentence | None:
    """ "The left tower is the tallest"; "no other tower is as high as the left one"; "no tower is higher"."""
    if say.world.boxes[1] < 2:
        return None
    where = say.which()
    box, boxes, one = say.box, say.boxes, the_one(say, where)
    words = _words(say) | {"here": where.subject, "one": one, "tallest": "(tallest|highest)", "most": "most"}
    words["more"], sign = "more", ">"
    if say.chance(0.4):
        words |= {"tallest": "(shortest|lowest|smallest)", "tall": "(short|low)", "taller": SHORTER, "shorter": TALLER}
        words |= {"most": "fewest", "more": "fewer"}
        sign = "<"
    words["others"] = f"(all [the] other|the other) {boxes}|every other {box}|any other {box}|(all|) the (others|rest)"
    strict = mean.none(BOXES, f"# != {where.box} and count(#) {sign}= count({where.box})", "#")
    if say.chance(0.08):
        return Sentence(f"{where.subject} ~(is not|isn't) the {words['tallest']}", mean.negation(strict))
    if say.chance(0.08):
        weak = mean.none(BOXES, f"count(#) {sign} count({where.box})", "#")
        return Sentence(f"(no {box}|none of the {boxes}) ~is {words['taller']} than {one}", weak)
    texts = [*_TABLES["extremes"].wordings, *_TABLES["tallest"].wordings * (sign == ">")]
    return Sentence(say.rng.choice(texts).format(**words), strict)


_PAIR = "exist(filter_obj(all_boxes, lambda b1: exist(filter_obj(all_boxes, lambda b0: b0 != b1 and count(b0) {}))))"
_MEANINGS = {
    "equal": "all_same_attribute(all_boxes, lambda b0: count(b0))",
    "two_equal": _PAIR.format("== count(b1)"),
    "twice": _PAIR.format("== count(b1) + count(b1)"),
    "one_tallest": _PAIR.replace("b1: exist", "b1: not exist").format(">= count(b1)"),
}


@about_towers
def all_heights(say: Speaker) -> Sentence | None:
    """ "All towers have the same height"; "no two towers are equally tall"; "the towers get taller to the right"."""
    low, high = say.world.boxes
    if low < 2:
        return None
    words = _words(say)
    if low == high <= 4 and say.chance(0.12):
        (up, sign), (down, _) = say.rng.sample([("left to right", " < "), ("right to left", " > ")], 2)
        heights = [f"count(all_boxes[{at}])" for at in range(high)]
        return Sentence(_TABLES["rising"].say(say, up=up, down=down, **words), sign.join(heights))
    row, same = _TABLES["all_heights"].draw(say), f"(equally {TALL}|the same height|of (the same|equal) height)"
    equal = f"(have|share) the same (height|number of {say.items})|match in height|are as tall as each other"
    words |= {"same": same, "alike": f"~(are {same}|{equal})"}
    words["like_it"] = f"(of the same height|that are {same}|with the same number of {say.items})"
    return Sentence(row.say(say, **words), row.columns[0].format(**_MEANINGS))


@about_towers
def ends_compared(say: Speaker) -> Sentence | None:
    """ "All towers have the same colour on top"; "no two bases have the same colour"; "the left and right tower …"."""
    if not (options := varying(say)) or say.world.boxes[0] < 2:
        return None
    attribute, n = say.rng.choice(options), say.pick(2, 2, 3)
    name, items, boxes = say.lexicon.names[attribute.name], say.items, say.boxes
    top, tops, at, condition = say.pick(
        ("top", f"((top|topmost|uppermost) {items}|tops of the {boxes})", AT_TOP, TOP),
        ("(base|bottom)", f"((bottom|lowest) {items}|bases [of the {boxes}])", AT_BOTTOM, BOTTOM),
    )
    words = _words(say) | {"c": say.rng.choice(attribute.words), "top": top, "tops": tops, "at": at}
    if say.chance(0.18) and len(say.lexicon.distinct_places) > 1:
        text = say.rng.choice(_TABLES["two_ends"].wordings)
        first, second = say.two_places()
        a, b = (f"{name}({mean.those(where.box, condition)})" for where in (first, second))
        sign = "!=" if "differ" in text else "=="
        return Sentence(text.format(here=first.subject, there=second.subject, **words), f"{a} {sign} {b}")
    row = _TABLES["all_ends"].draw(say)
    test = row.columns[0].format(n=n)
    text = row.say(say, said=say.number(n), **words)
    return Sentence(text, f"count({name}({mean.those(ITEMS, condition)})) {test}")


RULES = (
    *((6.0, particular), (5.0, general), (2.8, only_tower), (5.0, block_at), (1.5, height_of)),
    *((1.5, in_order), (5.5, blocks)),
    *((3.5, compared_heights), (3.0, extreme), (3.0, all_heights), (3.0, ends_compared)),
)
