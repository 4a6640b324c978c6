"""Rules about towers: their heights, tops, bases and the order of their blocks.

Most say a predicate ("has a black block on top", "is three blocks high") of one or more towers, or count or single out
the towers of which it is true. In a predicate's condition, `#` is the tower.
"""

from __future__ import annotations

from dataclasses import dataclass

from veriscene.english import meaning as mean
from veriscene.english.pattern import base_form
from veriscene.english.speaker import Domain, Kind, Sentence, Speaker
from veriscene.english.words import ORDINALS
from veriscene.world.schema import Attribute

TALLEST = "not exist(filter_obj(all_boxes, lambda b0: count(b0) > count(#)))"
SHORTEST = "not exist(filter_obj(all_boxes, lambda b0: count(b0) < count(#)))"
TOP, BOTTOM = "is_top(@)", "is_bottom(@)"


@dataclass(frozen=True)
class Predicate:
    """What can be said of a tower. The verb is in the singular; the rest may contain "its"."""

    verb: str
    rest: str
    condition: str
    having: tuple[str, ...] = ()  # after a noun, as "with a black block on top"; "that has …" is always possible

    def of(self, plural: bool) -> str:
        """The verb, marked, and the rest."""
        if not plural:
            return f"~{self.verb} {self.rest}"
        verb = "are" if self.verb == "is" else base_form(self.verb)[1]
        return f"~{verb} {self.rest.replace(' its ', ' their ')}"

    def after_noun(self, say: Speaker, plural: bool = False) -> str:
        words = say.pick(*self.having, *self.having, f"(that|which) {self.of(plural).replace('~', '')}")
        return words.replace(" its ", " their ") if plural else words


@dataclass(frozen=True)
class Spot:
    """A place in a tower: "on top", and the block there, "top block"."""

    at: str
    block: str
    condition: str  # on the item @
    end: str = ""  # "top" or "base"


def _spot(say: Speaker) -> Spot:
    how = say.weighted((6, "top"), (5, "bottom"), (2.5, "from below"), (1, "from the top"), (1, "middle"))
    item = say.item
    if how == "top":
        at = "(on top|on top|at the top|at the very top|on the top|up top)"
        return Spot(at, f"(top|top|topmost|uppermost|highest) {item}", TOP, "(top|top|peak|summit)")
    if how == "bottom":
        at = "(at the bottom|at the bottom|at the base|at the very bottom|on the bottom|down at the bottom)"
        return Spot(at, f"(bottom|bottom|lowest|bottommost) {item}", BOTTOM, "(base|base|bottom|foundation)")
    if how == "middle":
        same = "count(get_box_all_above(@)) == count(get_box_all_below(@))"
        return Spot("(exactly|right|precisely) in the middle", f"(middle|middle|central) {item}", same)
    number = say.pick(2, 2, 3, 4)
    nth = ORDINALS[number]
    if how == "from the top":
        next_to = f"|{item} (right|just|directly) (below|under) the top (one|{item})" if number == 2 else ""
        return Spot(
            f"({nth} from the top|in the {nth} (place|position) from the top)",
            f"({nth} {item} from the top|{nth} {item} counted from the top|{nth}-highest {item}{next_to})",
            f"count(get_box_all_above(@)) == {number - 1}",
        )
    base = f"(base|bottom one|bottom {item}|lowest one)"
    next_to = f"|{item} (right|just|directly|immediately) above the {base}|{item} (right|directly) on top of the {base}"
    return Spot(
        f"({nth} from the bottom|{nth} from below|in the {nth} (place|position) from (the bottom|below))",
        f"({nth} {item} from the bottom|{nth} {item} from below|{nth} {item} counted from (the bottom|below)|{nth}-lowest {item}"
        f"|{nth} {item} up{next_to if number == 2 else ''})",
        ("is_second(@)", "is_third(@)", "count(get_box_all_below(@)) == 3")[number - 2],
    )


# ---------------------------------------------------------------- towers


def _prepare(say: Speaker) -> None:
    """Makes the speaker say "tower" and mostly "block", as one does about heights and tops."""
    if (say.box, say.boxes) not in say.lexicon.towers:
        say.box, say.boxes = say.favourite(say.lexicon.towers)
    if (say.item, say.items) not in say.lexicon.blocks and say.chance(0.7):
        say.item, say.items = say.favourite(say.lexicon.blocks)


def _superlative(say: Speaker) -> Domain:
    """ "The tallest tower": each of the tallest, if several are."""
    words, test = say.pick(
        (f"(tallest|highest|biggest) {say.box}|{say.box} with the most {say.items}", TALLEST),
        (f"(shortest|lowest|smallest) {say.box}|{say.box} with the fewest {say.items}", SHORTEST),
    )
    subject = say.expand(f"the ({words})")

    def bind(meaning: str) -> str:
        return mean.none(mean.ALL_BOXES, mean.both(test, mean.negation(meaning)), "#")

    return Domain("#", f"in {subject}", subject, bind=bind, box="#")


def _the_tower_that(say: Speaker) -> Domain:
    """ "The tower with a black block on top", "the only tower that is three blocks high"."""
    found = say.pick(_at_spot, _height)(say)
    box = f"unique({mean.those(mean.ALL_BOXES, found.condition, '#')})"
    subject = say.expand(f"(the|the|the only) {say.box} {found.after_noun(say)}")
    return Domain(box, f"in {subject}", subject, box=box)


def _tower(say: Speaker) -> Domain:
    """One or more towers: the left one, every one, the tallest one."""
    how = say.weighted((4, "particular"), (4.5, "quantified"), (1.2, "superlative"), (0.5, "described"))
    if how == "quantified":
        return say.quantified()
    if how == "particular" and say.world.boxes[1] > 1:
        return say.which()
    return _superlative(say) if how == "superlative" else _the_tower_that(say)


def _is_negative(where: Domain) -> bool:
    return where.subject.startswith(("no ", "none ", "not "))


def _said_of(where: Domain, condition: str) -> str:
    """The meaning of a condition on a tower, said of a domain."""
    return where.bind(condition.replace("#", where.box))


# ---------------------------------------------------------------- predicates


def _varying(say: Speaker) -> list[Attribute]:
    """The attributes, other than the noun's, whose values differ between the blocks of towers."""
    towers = say.world.towers
    fixed = {name for name, _ in towers.values} if towers else set()
    found = [each for each in say.world.attributes if each.choices and not each.is_noun]
    return [each for each in found if each.name not in fixed and not each.has_extents] or found


def _value(say: Speaker) -> tuple[str, str]:
    """A word for a property after "is" with its condition."""
    if (varying := _varying(say)) and say.chance(0.93):
        attribute = say.rng.choice(varying)
        choice = say.rng.choice(attribute.choices)
        return say.rng.choice(choice.words), say.has(attribute, choice)
    found = say.property(noun=False)
    return found.singular, found.condition


def _kind(say: Speaker, noun: bool = True) -> Kind:
    """A kind of block; mostly "black block"."""
    if say.chance(0.12):
        return say.kind(plain=True, generic=0.0)
    word, condition = _value(say)
    if " " in word:
        return Kind(f"{say.item} that is {word}", f"{say.items} that are {word}", condition)
    nouns = [
        (pair, value) for value, pairs in say.lexicon.nouns.items() for pair in pairs if value in _tower_values(say)
    ]
    if noun and nouns and say.chance(0.2):
        (one, many), value = say.rng.choice(nouns)
        shape = f"{say.lexicon.names[value[0]]}(@) == {say.lexicon.constants[value]}"
        return Kind(f"{word} {one}", f"{word} {many}", mean.both(*sorted((condition, shape))))
    one, many = (say.item, say.items) if say.chance(0.93) else ("one", "ones")
    return Kind(f"{word} {one}", f"{word} {many}", condition)


def _tower_values(say: Speaker) -> tuple[tuple[str, object], ...]:
    return say.world.towers.values if say.world.towers else ()


def _at_spot(say: Speaker) -> Predicate:
    """ "Has a black block on top"; "stands on a black block"; "whose second block from below is black"."""
    spot, kind = _spot(say), _kind(say)
    condition = mean.some("#", mean.both(kind.condition, spot.condition))
    word, value = _value(say)
    if say.chance(0.35):
        condition = mean.some("#", mean.both(value, spot.condition))
        having: tuple[str, ...] = (
            f"whose {spot.block} is {word}",
            f"whose {spot.block} is {word}",
            f"with a {word} {spot.block}",
        )
        if spot.end and " " not in word:
            having = (*having, f"with a {word} {spot.end}", f"whose {spot.end} is {word}")
            if say.chance(0.5):
                return Predicate("has", f"a {word} {spot.end}", condition, having)
        return Predicate("has", f"a {say.item} that is {word} {spot.at}", condition, having)
    if say.chance(0.1):
        words = f"(no {kind.singular}|no {kind.plural}|something other than {kind.a}|something else than {kind.a})"
        condition = mean.negation(condition)
        return Predicate("has", f"{words} {spot.at}", condition, (f"without {kind.a} {spot.at}",))
    options = [("has", f"{kind.a} {spot.at}"), ("has", f"{kind.a} {spot.at}"), ("has", f"{kind.a} as its {spot.block}")]
    having = (f"with {kind.a} {spot.at}", f"with {kind.a} {spot.at}", f"whose {spot.block} is {kind.a}")
    if spot.condition == TOP:
        options += [
            ("is", f"(topped|crowned|topped off|finished off) (by|with) {kind.a}"),
            ("is", f"topped (by|with) {kind.a}"),
            ("ends", f"(with|in) {kind.a} (on top|at the top|up top)"), ("has", f"{kind.a} for its {spot.block}"),
        ]  # fmt: skip
        having = (*having, f"(topped|crowned) (by|with) {kind.a}")
    if spot.condition == BOTTOM:
        options += [
            ("stands", f"on {kind.a}"), ("rests", f"on {kind.a}"),
            ("is", f"(built|built up|founded|standing) on {kind.a}"),
            ("starts", f"with {kind.a} at the bottom"), ("has", f"{kind.a} (as a base|as its base|for its base)"),
        ]  # fmt: skip
        having = (
            *having,
            f"(standing|built|resting) on {kind.a}",
            f"with {kind.a} as its base",
            f"whose base is {kind.a}",
        )
    verb, rest = say.pick(*options)
    return Predicate(verb, rest, condition, having)


def _blocks(say: Speaker) -> tuple[str, str]:
    """A number of blocks, as "at least three blocks", with its test."""
    number = say.weighted((1, 1), (3, 2), (4, 3), (3, 4), (1.5, 5), (0.5, 6))
    said, items = say.number(number), say.items if number > 1 else say.item
    words, test = say.weighted(
        (5, (f"(|||exactly |precisely |just |only ){said} {items}", "{} == %d")),
        (
            2,
            (
                f"((at least|no fewer than|no less than|a minimum of) {said} {items}|{said} or more {say.items})",
                "{} >= %d",
            ),
        ),
        (
            1.5,
            (
                f"((at most|no more than|up to|a maximum of) {said} {items}|{said} or (fewer|less) {say.items})",
                "{} <= %d",
            ),
        ),
        (1.5, (f"(more than|more than|over) {said} {items}", "{} > %d" if number > 1 else "{} >= 2")),
        (1.5 * (number > 1), (f"(fewer than|less than|under) {said} {items}", "{} < %d")),
    )
    return words, test % number if "%" in test else test


def _height(say: Speaker) -> Predicate:
    """ "Is three blocks high"; "consists of at least two blocks"."""
    blocks, test = _blocks(say)
    tall = "(high|high|tall|tall|in height)"
    verb, rest = say.pick(
        ("is", f"{blocks} {tall}"), ("is", f"{blocks} {tall}"), ("has", blocks), ("has", blocks),
        ("consists", f"of {blocks}"),
        ("contains", blocks), ("is", f"(made|built|made up) of {blocks}"), ("has", f"a height of {blocks}"),
        ("rises", f"to a height of {blocks}"), ("goes", f"{blocks} up"),
        ("has", f"{blocks} (in it|stacked up|piled up)"),
    )  # fmt: skip
    if " > " in test or " < " in test:
        number, than = test.rpartition(" ")[2], "(taller|higher) than" if " > " in test else "(shorter|lower) than"
        if say.chance(0.3):
            verb, rest = "is", f"{than} {say.number(int(number))} {say.items if number != '1' else say.item}"
    return Predicate(verb, rest, test.format("count(#)"), (f"(of|with|made of) {blocks}", f"{blocks} {tall}"))


def _both_ends(say: Speaker) -> Predicate:
    """ "Has a black block on top and a yellow one at the bottom"; "starts with black and ends with yellow"."""
    (first, upper), (second, lower) = _value(say), _value(say)
    condition = mean.both(mean.some("#", mean.both(upper, TOP)), mean.some("#", mean.both(lower, BOTTOM)))
    top, bottom = "(on top|at the top)", "(at the bottom|at the base)"
    verb, rest = say.pick(
        ("has", f"a {first} {say.item} {top} and a {second} (one|{say.item}) {bottom}"),
        ("has", f"a {first} top and a {second} (base|bottom)"),
        ("is", f"{first} {top} and {second} {bottom}"), ("has", f"{first} {top} and {second} {bottom}"),
    )  # fmt: skip
    return Predicate(
        verb,
        rest,
        condition,
        (f"with a {first} top and a {second} (base|bottom)", f"with {first} {top} and {second} {bottom}"),
    )


def _all_of_it(say: Speaker) -> Predicate:
    """ "Is all black"; "consists only of black blocks"."""
    kind, (word, value) = _kind(say), _value(say)
    items = say.items
    if say.chance(0.5) and " " not in word:
        verb, rest = say.pick(
            ("is", f"(all|entirely|completely|fully|wholly) {word}"),
            ("is", f"{word} from (top to bottom|bottom to top|base to top)"),
            ("has", f"only {word} {items}"), ("has", f"nothing but {word} {items}"),
            ("is", f"made (entirely|only|solely) of {word} {items}"),
            ("is", f"{word} (throughout|all over|all the way up)"),
            ("has", f"no {say.item} that (is not|isn't) {word}"),
        )  # fmt: skip
        return Predicate(verb, rest, mean.every("#", value), (f"(with|of) only {word} {items}",))
    if say.chance(0.6):
        verb, rest = say.pick(
            ("consists", f"(only|entirely|exclusively|solely) of {kind.plural}"),
            ("contains", f"(only|nothing but|just) {kind.plural}"),
            ("is", f"(built|made) (entirely|only|exclusively|just) of {kind.plural}"),
            ("has", f"(only|just) {kind.plural}"),
        )  # fmt: skip
        return Predicate(
            verb, rest, mean.every("#", kind.condition), (f"(of|with) (only|nothing but|just) {kind.plural}",)
        )
    return _one_value(say)


def _one_value(say: Speaker) -> Predicate:
    """ "Has just one colour"; "has blocks of different colours"; "has two colours"; "does not repeat a colour"."""
    if not _varying(say):
        return _height(say)
    attribute = say.rng.choice(_varying(say))
    word, name = say.rng.choice(attribute.words), say.lexicon.names[attribute.name]
    words, items = f"{word}s", say.items
    values = f"count({name}(#))"
    how = say.weighted((4, "one"), (3, "different"), (2, "number"), (2, "ends"), (1, "ends differ"), (1, "neighbours"))
    if how == "one":
        verb, rest = say.pick(
            ("has", f"(only|just) one {word}"), ("has", f"a single {word}"), ("is", f"all one {word}"),
            ("is", f"(all of|of) a single {word}"),
            ("has", f"{items} of (only one|the same|a single) {word}"), ("is", f"the same {word} from top to bottom"),
            ("consists", f"of {items} of (the same|one|a single) {word}"), ("is", f"uniform in {word}"),
            ("has", f"all its {items} in the same {word}"),
            ("is", f"made of {items} of (the same|one|a single) {word}"),
        )  # fmt: skip
        return Predicate(verb, rest, f"{values} == 1", (
            f"(of|with) (only one|a single|just one) {word}", f"whose {items} all have the same {word}",
            f"whose {items} are all the same {word}",
            f"where every {say.item} (is|has) the same {word}", f"in which all the {items} (match|are alike) in {word}",
        ))  # fmt: skip
    if how == "different":
        verb, rest = say.pick(
            ("has", f"no two {items} of the same {word}"), ("has", f"{items} of all different {words}"),
            ("has", f"no {word} (twice|more than once)"),
            ("has", f"a different {word} for (each|every) {say.item}"), ("has", f"no repeated {words}"),
        )  # fmt: skip
        return Predicate(verb, rest, f"{values} == count(#)", (
            f"with no two {items} of the same {word}", f"whose {items} all (have different {words}|differ in {word})",
            f"in which no two {items} share a {word}",
            f"where every {say.item} (has|is) a different {word}", f"in which no {word} occurs (twice|more than once)",
            f"without repeated {words}",
        ))  # fmt: skip
    if how == "number":
        number = say.pick(2, 2, 3)
        said = say.number(number)
        words, test = say.pick(
            (f"(exactly |just |only |){said} [different] {words}", f"== {number}"),
            (f"(at least {said}|{said} or more) [different] {words}", f">= {number}"),
            (f"more than one {word}", ">= 2"),
        )  # fmt: skip
        return Predicate(say.pick("has", "contains", "shows"), words, f"{values} {test}", (f"with {words}",))
    top, bottom = (mean.those("#", each) for each in (TOP, BOTTOM))
    if how == "ends":
        ends = "(at the top and [at] the bottom|on top and at the bottom|at both ends|on the top and the bottom)"
        blocks = f"(top and bottom {items}|highest and lowest {items}|top and base|first and last {items})"
        same = f"{name}({top}) == {name}({bottom})"
        verb, rest = say.pick(
            ("has", f"the same {word} {ends}"), ("starts", f"and ends with the same {word}"),
            ("has", f"a top and a base of the same {word}"),
            ("has", f"the same {word} on top as at the bottom"),
        )  # fmt: skip
        return Predicate(verb, rest, same, (
            f"with the same {word} {ends}", f"whose {blocks} have the same {word}",
            f"whose {blocks} (match|are alike) in {word}",
            f"where the {blocks} are the same {word}",
            f"whose (top|top {say.item}) (is|has) the same {word} as its (base|bottom|bottom {say.item})",
        ))  # fmt: skip
    if how == "ends differ":
        return Predicate(
            "has", f"different {words} (at the top and [at] the bottom|on top and at the bottom)",
            f"{name}({top}) != {name}({bottom})",
            (f"whose top and bottom (have different {words}|differ in {word})", f"with a top of another {word} than its base"),
        )  # fmt: skip
    inner = f"filter_obj(get_directly_above(x1), lambda x0: {name}(x0) == {name}(x1))"
    neighbours = f"(neighbouring|adjacent|consecutive) {items}"
    return Predicate(
        "has", f"no two {neighbours} of the same {word}", f"not exist(filter_obj(#, lambda x1: exist({inner})))",
        (f"in which no two {neighbours} (have the same|share a) {word}",),
    )  # fmt: skip


def _holding(say: Speaker) -> Predicate:
    """ "Contains two black blocks"."""
    quantity, kind = say.quantity(high=4, negative=False), _kind(say)
    verb = say.pick("has", "has", "contains", "includes")
    return Predicate(verb, quantity.of(kind), quantity.holds(kind.among("#")), (f"with {quantity.of(kind)}",))


def _predicate(say: Speaker) -> Predicate:
    draw = say.weighted(
        (5, _at_spot), (3, _height), (2, _all_of_it), (3, _one_value), (0.7, _holding), (0.8, _both_ends)
    )
    return draw(say)


# ---------------------------------------------------------------- rules: predicates


def said_of_towers(say: Speaker) -> Sentence:
    """ "Every tower has a black block on top"; "the left tower is three blocks high"."""
    _prepare(say)
    where, found = _tower(say), _predicate(say)
    meaning = _said_of(where, found.condition)
    texts = [f"{where.subject} {found.of(where.plural)}"] * 3
    if where.subject.startswith("the ") and not where.plural:
        texts += [f"(look at|take) {where.subject}: it {found.of(False)}", f"{where.subject}, it {found.of(False)}"]
    if where.is_quantified and where.subject.startswith(("all ", "every ", "each ")):
        texts += [
            f"the {say.boxes} all {found.of(True)}",
            f"whichever {say.box} you (look at|pick), it {found.of(False)}",
        ]
        return Sentence(say.pick(*texts), meaning)
    if where.subject.startswith(("a ", "some ")):
        return Sentence(_there_is(say, found), meaning)
    return Sentence(say.pick(*texts), meaning)


def _there_is(say: Speaker, found: Predicate) -> str:
    words = say.pick(f"a {say.box}", f"a {say.box}", f"(some|at least one) {say.box}")
    return say.pick(
        f"there ~is {words} {found.after_noun(say)}", f"there ~is {words} {found.after_noun(say)}",
        f"(I|you|we) ~(can see|see|can find|have) {words} {found.after_noun(say)}",
        f"one of the {say.boxes} {found.of(False)}",
        f"among the {say.boxes} there ~is one {found.after_noun(say)}",
        f"the picture ~(has|includes|contains|shows) {words} {found.after_noun(say)}",
    )  # fmt: skip


def counted(say: Speaker) -> Sentence:
    """ "There are exactly two towers with a black block on top"; "the number of towers of three blocks is two"."""
    _prepare(say)
    found = _predicate(say)
    quantity = say.quantity(high=min(4, say.world.boxes[1]))
    one, many = (f"{noun} {found.after_noun(say, plural)}" for noun, plural in ((say.box, False), (say.boxes, True)))
    be = "are" if quantity.plural else "is"
    words = quantity.of(Kind(one, many))
    meaning = quantity.holds(mean.those(mean.ALL_BOXES, found.condition, "#"))
    texts = [f"there ~{be} {words}", f"there ~{be} {words}", f"(I|you|we) ~(can see|see|count) {words}"]
    if quantity.test.startswith("{} == "):
        number = quantity.test.rpartition(" ")[2]
        if number != "0" and number.isdigit() and "%" not in quantity.test:
            said = say.number(int(number))
            texts += [f"the number of {many} ~is {said}", f"(number of |){many}: {said}"]
    return Sentence(say.pick(*texts), meaning)


def restricted(say: Speaker) -> Sentence | None:
    """ "Every tower with a black base is three blocks high"; "no tower of two blocks has a black top"."""
    _prepare(say)
    first, second = _predicate(say), _predicate(say)
    if first.condition == second.condition:
        return None
    kind = f"{say.box} {first.after_noun(say)}"
    kinds = f"{say.boxes} {first.after_noun(say, True)}"
    both = mean.both(first.condition, second.condition)
    text, meaning = say.weighted(
        (
            3,
            (
                f"(every|each) {kind} {second.of(False)}",
                mean.none(mean.ALL_BOXES, mean.both(first.condition, mean.negation(second.condition)), "#"),
            ),
        ),
        (
            2,
            (
                f"(all|all the) {kinds} {second.of(True)}",
                mean.none(mean.ALL_BOXES, mean.both(first.condition, mean.negation(second.condition)), "#"),
            ),
        ),
        (1.5, (f"(no|not one|not a single) {kind} {second.of(False)}", mean.none(mean.ALL_BOXES, both, "#"))),
        (1.5, (f"(a|some|at least one) {kind} {second.of(False)}", mean.some(mean.ALL_BOXES, both, "#"))),
        (1, (f"(only|just) one {kind} {second.of(False)}", f"{mean.count(mean.ALL_BOXES, both, '#')} == 1")),
    )
    return Sentence(text, meaning)


def only_tower(say: Speaker) -> Sentence | None:
    """ "The left tower is the only one with a black block on top"; "only the left tower is three blocks high"."""
    if say.world.boxes[1] < 2:
        return None
    _prepare(say)
    where, found = say.which(), _predicate(say)
    here = found.condition.replace("#", where.box)
    meaning = mean.both(here, f"{mean.count(mean.ALL_BOXES, found.condition, '#')} == 1")
    return Sentence(
        say.pick(
            f"{where.subject} ~is the only (one|{say.box}) {found.after_noun(say)}",
            f"the only (one|{say.box}) {found.after_noun(say)} ~is {where.subject}",
            f"only {where.subject} {found.of(False)}",
        ),
        meaning,
    )


def all_but(say: Speaker) -> Sentence | None:
    """ "Every tower except the left one has a black top"; "the left tower is the only one without a black top"."""
    if say.world.boxes[1] < 2:
        return None
    _prepare(say)
    where, kind, spot = say.which(), _kind(say), _spot(say)
    condition = mean.some("#", mean.both(kind.condition, spot.condition))
    here, box = condition.replace("#", where.box), say.box
    things = f"{kind.a} {spot.at}"
    one = where.subject.replace(box, "one", 1) if where.subject.endswith(f" {box}") else where.subject
    but = f"(except|but|except for|apart from|other than) {one}"
    text, meaning = say.pick(
        (f"{where.subject} ~is the only (one|{box}) without {things}", "only without"),
        (f"the only {box} (without|that does not have|that doesn't have) {things} ~is {one}", "only without"),
        (f"(every|each) {box} {but} ~has {things}", "others"),
        (f"(all|all the) {say.boxes} {but} ~have {things}", "others"),
        (f"(all the other {say.boxes}|the other {say.boxes}|the others) ~have {things}, but not {one}", "only without"),
    )
    if meaning == "only without":
        others = f"{mean.count(mean.ALL_BOXES, mean.negation(condition), '#')} == 1"
        return Sentence(text, mean.both(mean.negation(here), others))
    return Sentence(text, mean.none(mean.ALL_BOXES, mean.both(f"# != {where.box}", mean.negation(condition)), "#"))


def block_at(say: Speaker) -> Sentence:
    """ "The top block of every tower is black"; "a black block sits on top of the left tower"."""
    _prepare(say)
    where, spot = _tower(say), _spot(say)
    kind, (word, value) = _kind(say), _value(say)
    towers = where.subject
    of_kind = _said_of(where, mean.some("#", mean.both(kind.condition, spot.condition)))
    of_value = _said_of(where, mean.some("#", mean.both(value, spot.condition)))
    texts = []
    if not _is_negative(where):
        texts += [
            (f"the {spot.block} (of|in) {towers} ~is {word}", of_value),
            (f"the {spot.block} (of|in) {towers} ~is {kind.a}", of_kind),
            (f"in {towers}, the {spot.block} ~is {word}", of_value),
            (f"in {towers}, the {spot.block}: {word}", of_value),
        ]  # fmt: skip
        if spot.end:
            texts += [
                (f"the {spot.end} of {towers} ~is {word}", of_value),
                (f"the {spot.end} of {towers} ~is {kind.a}", of_kind),
            ]
        if spot.condition == TOP:
            texts += [
                (f"{kind.a} ~(sits|is|lies) (on top|at the top|at the very top) of {towers}", of_kind),
                (f"there ~is {kind.a} on top of {towers}", of_kind),
                (f"{kind.a} ~(crowns|tops|forms the top of) {towers}", of_kind),
                (f"on top of {towers} (there ~is|(you|we|I) ~can see) {kind.a}", of_kind),
            ]  # fmt: skip
        if spot.condition == BOTTOM:
            texts += [
                (f"{kind.a} ~is at the (bottom|base|foot|very bottom) of {towers}", of_kind),
                (f"there ~is {kind.a} at the (bottom|base|foot) of {towers}", of_kind),
                (f"{kind.a} ~forms the (base|bottom|foundation) of {towers}", of_kind),
                (f"at the (bottom|foot|base) of {towers} there ~is {kind.a}", of_kind),
            ]  # fmt: skip
        if not where.is_quantified and not where.plural:
            texts += [(f"{towers}'s {spot.block} ~is {word}", of_value), (f"{towers}: {kind.a} {spot.at}", of_kind)]
    if not texts:
        texts = [(f"{towers} ~{'have' if where.plural else 'has'} {kind.a} {spot.at}", of_kind)]
    return Sentence(*say.pick(*texts))


def height_of(say: Speaker) -> Sentence:
    """ "The height of the left tower is three blocks"; "the number of blocks in every tower is at least two"."""
    _prepare(say)
    where = _tower(say)
    blocks, test = _blocks(say)
    meaning = _said_of(where, test.format("count(#)"))
    towers, items = where.subject, say.items
    if _is_negative(where):
        return Sentence(f"{towers} ~{'have' if where.plural else 'has'} {blocks}", meaning)
    blocks = say.expand(blocks)
    number = blocks.removesuffix(f" {items}").removesuffix(f" {say.item}")
    be = "is" if blocks.endswith(f" {say.item}") else "are"
    texts = [f"the height of {towers} ~is {blocks}"]
    if not where.plural:  # "there are three blocks in all towers" could be about all of them together
        texts += [
            f"the number of {items} in {towers} ~is {number}", f"there ~{be} {blocks} in {towers}",
            f"in {towers} there ~{be} {blocks}", f"in {towers}, there ~{be} {blocks}",
            f"{blocks} ~make{'s' if be == 'is' else ''} up {towers}",
            f"(I|you|we) ~(count|can count) {blocks} in {towers}",
        ]  # fmt: skip
    if not where.is_quantified:
        texts += [
            f"number of {items} in {towers}: {number}",
            f"height of {towers}: {blocks}",
            f"{items} in {towers}: {number}",
        ]
    if where.subject.startswith(("a ", "some ", "at least one ")) and number.isalnum():
        texts = [f"there ~is a {number}-{say.item} {say.box}", f"there ~is a {say.box} {blocks} (high|tall)"]
    return Sentence(say.pick(*texts), meaning)


def in_its_tower(say: Speaker) -> Sentence:
    """ "Every black block is at the top of its tower"; "the only black block is on top"."""
    _prepare(say)
    kind, spot = _kind(say), _spot(say)
    tower = say.box
    at, condition = say.pick(
        (f"(at the top of|at the very top of|on top of) (its|a) {tower}", TOP),
        (f"(at the bottom of|at the very bottom of|at the base of) (its|a) {tower}", BOTTOM),
        (f"the {spot.block} of its {tower}", spot.condition),
    )  # fmt: skip
    there = mean.those(mean.ALL_ITEMS, mean.both(kind.condition, condition))
    others = mean.those(mean.ALL_ITEMS, mean.both(kind.condition, mean.negation(condition)))
    number = say.small(2, 3)
    text, meaning = say.weighted(
        (3, (f"(every|each) {kind.singular} ~is {at}", f"not exist({others})")), (1, (f"not every {kind.singular} ~is {at}", f"exist({others})")),
        (2, (f"(no|not a single) {kind.singular} ~is {at}", f"not exist({there})")), (2, (f"(a|some|at least one) {kind.singular} ~is {at}", f"exist({there})")),
        (2, (f"the only {kind.singular} ~is {at}", mean.both(f"count({kind.among(mean.ALL_ITEMS)}) == 1", f"exist({there})"))),
        (1, (f"(exactly|only|just) one {kind.singular} ~is {at}", f"count({there}) == 1")),
        (1, (f"(|exactly ){say.number(number)} {kind.plural} ~are {at.replace('(its|a) ', 'their ').replace('its ', 'their ')}s", f"count({there}) == {number}")),
    )  # fmt: skip
    return Sentence(text, meaning)


def in_order(say: Speaker) -> Sentence | None:
    """ "From bottom to top, the left tower is black, yellow, black"."""
    if not _varying(say):
        return None
    _prepare(say)
    where, attribute = _tower(say), say.rng.choice(_varying(say))
    chosen = [say.rng.choice(attribute.choices) for _ in range(say.pick(2, 2, 3, 3, 3, 4))]
    said = [say.rng.choice(each.words) for each in chosen]
    below = (BOTTOM, "is_second(@)", "is_third(@)", "count(get_box_all_below(@)) == 3")
    levels = [
        mean.some("#", mean.both(say.has(attribute, each), level)) for each, level in zip(chosen, below, strict=False)
    ]
    condition = mean.both(f"count(#) == {len(chosen)}", *levels)
    up = say.chance(0.6)
    words = said if up else said[::-1]
    listed = say.pick(
        ", ".join(words), f"{', '.join(words[:-1])} and {words[-1]}", f"{words[0]}, then {', then '.join(words[1:])}"
    )
    way = "from (bottom to top|the bottom up|the ground up|base to top)" if up else "from (top to bottom|the top down)"
    be = "are" if where.plural else "is"
    texts = [f"{way}, {where.subject} ~{be} {listed}", f"{where.subject} ~{be} {listed} {way}"]
    if not where.is_quantified and not where.plural:
        texts += [
            f"{where.subject}, {way}: {listed}",
            f"{where.subject} ~goes {listed} {way}",
            f"{way} {where.subject} ~(goes|reads) {listed}",
        ]
    return Sentence(say.pick(*texts), _said_of(where, condition))


# ---------------------------------------------------------------- rules: comparisons


def compared_heights(say: Speaker) -> Sentence | None:
    """ "The left tower is two blocks taller than the right one"; "… has twice as many blocks as the right one"."""
    if len(say.lexicon.distinct_places) < 2:
        return None
    _prepare(say)
    first, second = say.two_places()
    a, b, other = f"count({first.box})", f"count({second.box})", second.subject
    if not other.endswith(" one"):
        other = say.pick(other, other.replace(say.box, "one", 1) if other.endswith(f" {say.box}") else other)
    items, number = say.items, say.small(1, 3)
    by = f"{say.number(number)} {items if number > 1 else say.item}"
    taller, shorter = "(taller|higher|taller|higher|bigger)", "(shorter|lower|shorter|smaller)"
    more = (
        f"~is {taller} than {other}", f"~(rises above|goes higher than) {other}",
        f"~has more {items} than {other}", f"~(surpasses|exceeds|beats) {other} in height",
        f"~has a greater height than {other}",
        f"~is made of more {items} than {other}", f"~is the taller of the two, compared with {other}",
    )  # fmt: skip
    less = (
        f"~is {shorter} than {other}",
        f"~(is not|isn't) as (tall|high) as {other}",
        f"~has fewer {items} than {other}",
        f"~is not so high as {other}",
    )
    same = (
        f"~is (as|just as|exactly as) (tall|high) as {other}", f"~has the same height as {other}",
        f"~is the same height as {other}",
        f"~has as many {items} as {other}", f"~has the same number of {items} as {other}",
        f"~is equal in height to {other}",
    )  # fmt: skip
    text, meaning = say.weighted(
        (5, (say.pick(*more), f"{a} > {b}")),
        (4, (say.pick(*less), f"{a} < {b}")),
        (3, (say.pick(*same), f"{a} == {b}")),
        (1, (f"~(does not have|doesn't have) the same height as {other}", f"{a} != {b}")),
        (1, (f"~is (at least as tall as|no shorter than|as tall as or taller than) {other}", f"{a} >= {b}")),
        (1, (f"~is (no taller than|not taller than|not higher than) {other}", f"{a} <= {b}")),
        (2, (say.pick(f"~is [exactly] {by} {taller} than {other}", f"~has [exactly] {say.number(number)} more {items if number > 1 else say.item} than {other}"), f"{a} == {b} + {number}")),
        (1.5, (say.pick(f"~is [exactly] {by} {shorter} than {other}", f"~has [exactly] {say.number(number)} fewer {items} than {other}"), f"{a} + {number} == {b}")),
        (1, (f"~is at least {by} {taller} than {other}", f"{a} >= {b} + {number}")),
        (2, (say.pick(f"~is (twice|two times|exactly twice) as (tall|high) as {other}", f"~has (twice|two times) as many {items} as {other}"), f"{a} == {b} + {b}")),
        (1, (say.pick(f"~is half as (tall|high) as {other}", f"~has half as many {items} as {other}"), f"{a} + {a} == {b}")),
    )  # fmt: skip
    options = [f"{first.subject} {text}"] * 5
    if meaning == f"{a} == {b}":
        options += [
            f"{first.subject} and {second.subject} ~(are equally (tall|high)|are the same height|have the same height)"
        ] * 3
    if meaning == f"{a} > {b}":
        options += [
            f"there ~are more {items} {_inside(first)} than {_inside(second)}",
            f"compared (to|with) {second.subject}, {first.subject} ~is {taller}",
        ]
    return Sentence(say.pick(*options), meaning)


def _inside(where: Domain) -> str:
    return f"in {where.subject}"


def extreme(say: Speaker) -> Sentence | None:
    """ "The left tower is the tallest"; "no other tower is as high as the left one"; "no tower is higher"."""
    if say.world.boxes[1] < 2:
        return None
    _prepare(say)
    where = say.which()
    box, boxes, items, subject = say.box, say.boxes, say.items, where.subject
    one = subject.replace(box, "one", 1) if subject.endswith(f" {box}") else subject
    others = f"(all the others|all other {boxes}|every other {box}|the others|the rest|any other {box}|all the rest|the other {boxes})"
    up, down = "(taller|higher)", "(shorter|lower)"
    tallest, taller, tall, most, shorter, more, sign = (
        "(tallest|highest)",
        up,
        "(tall|high)",
        "most",
        down,
        "more",
        ">=",
    )
    if is_least := say.chance(0.4):
        tallest, taller, tall, most = "(shortest|lowest|smallest)", down, "(short|low)", "fewest"
        shorter, more, sign = up, "fewer", "<="
    strict = f"not exist(filter_obj(all_boxes, lambda b0: b0 != {where.box} and count(b0) {sign} count({where.box})))"
    weak = f"not exist(filter_obj(all_boxes, lambda b0: count(b0) {sign[0]} count({where.box})))"
    texts = [
        (f"{subject} ~is the {tallest} [one|{box}|of all|of all the {boxes}]", strict),
        (f"{subject} ~is the {tallest}", strict),
        (f"{subject} ~is {taller} than {others}", strict), (f"the {tallest} {box} ~is {one}", strict),
        (f"the {tallest} one [of all|of them] ~is {subject}", strict),
        (f"{subject} ~has the {most} {items}", strict), (f"{subject} ~has {more} {items} than {others}", strict),
        (f"no other {box} ~is as {tall} as {one}", strict),
        (f"(all the other {boxes}|all other {boxes}|the other {boxes}|the rest of the {boxes}) ~are {shorter} than {one}", strict),
        (f"every other {box} ~is {shorter} than {one}", strict),
        (f"of all the {boxes}, {one} ~is the {tallest}", strict),
        (f"{tallest} {box}: {one}", strict), (f"(no {box}|none of the {boxes}) ~is {taller} than {one}", weak),
    ]  # fmt: skip
    if not is_least:
        texts += [(f"{subject} ~(rises above|surpasses|beats) {others} in height", strict)]
    text, meaning = say.pick(*texts)
    if say.chance(0.08):
        return Sentence(f"{subject} ~(is not|isn't) the {tallest}", mean.negation(strict))
    return Sentence(text, meaning)


def all_heights(say: Speaker) -> Sentence | None:
    """ "All towers have the same height"; "no two towers are equally tall"; "the towers get taller from left to right"."""
    low, high = say.world.boxes
    if low < 2:
        return None
    _prepare(say)
    box, boxes, items = say.box, say.boxes, say.items
    same = "(equally (tall|high)|the same height|of (the same|equal) height)"
    equal = "all_same_attribute(all_boxes, lambda b0: count(b0))"
    pair = "exist(filter_obj(all_boxes, lambda b1: exist(filter_obj(all_boxes, lambda b0: b0 != b1 and count(b0) == count(b1)))))"
    alike = f"(~are {same}|~have the same (height|number of {items})|~match in height|~are as tall as each other|~share the same height)"
    options = [
        (3, (say.pick(
            f"(all|all the|all of the) {boxes} {alike}",
            f"the {boxes} (~are all {same}|all ~have the same (height|number of {items}))",
            f"every {box} ~(has the same (height|number of {items}) as the others|is as (tall|high) as the others|has the same height)",
            f"no {box} ~is (taller|higher) than (another|another one|any other)",
            f"no two {boxes} ~(differ in height|have different heights)",
            f"the {boxes} ~(don't|do not) differ in height", f"{box} heights: all (equal|the same)",
            f"the heights of the {boxes} ~are all the same",
        ), equal)),
        (2.5, (say.pick(
            f"no two {boxes} ~(are {same}|have the same (height|number of {items}))",
            f"(all|all the|all of the) {boxes} ~(have|are) different heights",
            f"(every|each) {box} ~has (a different height|its own height|a height of its own|a different number of {items})",
            f"the {boxes} ~are all (different heights|of different heights|different in height)",
            f"the heights of the {boxes} ~are all different",
            f"there ~are no two {boxes} (of the same height|that are {same}|with the same number of {items})",
            f"no {box} ~is (as|just as) (tall|high) as another [one]",
            f"any two {boxes} differ in height", f"{box} heights: all different",
        ), f"not {pair}")),
        (2, (say.pick(
            f"(at least two|two or more) [of the] {boxes} {alike}",
            f"there ~are (at least two|two or more) {boxes} (of the same height|that are {same}|with the same number of {items})",
            f"(some|one) {box} ~is (as|just as|exactly as) (tall|high) as another [one|{box}]",
            f"(not all|not all of the) {boxes} ~(have different heights|differ in height)",
            f"the {boxes} ~are not all different heights",
        ), pair)),
        (0.7, (f"(a|one|some) {box} ~is (twice|exactly twice) as (tall|high) as another [one]",
               pair.replace("== count(b1)", "== count(b1) + count(b1)"))),
        (0.7, (f"(one {box}|one of the {boxes}) ~is (taller|higher) than (all the others|all others|the rest)",
               "exist(filter_obj(all_boxes, lambda b1: not exist(filter_obj(all_boxes, lambda b0: b0 != b1 and count(b0) >= count(b1)))))")),
        (1.5, (say.pick(
            f"not all [of the] {boxes} {alike}", f"the {boxes} ~(are not|aren't) all {same}",
            f"the {boxes} ~vary in height",
        ), f"not {equal}")),
    ]  # fmt: skip
    if low == high and high <= 4:
        heights = [f"count(all_boxes[{at}])" for at in range(high)]
        ends = ("left to right", "right to left")
        for sign, more, less in (("<", *ends), (">", *reversed(ends))):
            texts = (
                f"the {boxes} ~(get|become) (taller|higher) [and (taller|higher)] from {more}",
                f"the {boxes} ~(increase|grow|rise) in height from {more}",
                f"from {more}, the {boxes} ~(get|become) (taller|higher)",
                f"the {boxes} ~(get|become) (shorter|lower) from {less}",
                f"from {less} the {boxes} ~decrease in height",
            )  # fmt: skip
            options.append((0.7, (say.pick(*texts), f" {sign} ".join(heights))))
    return Sentence(*say.weighted(*options))


def ends_compared(say: Speaker) -> Sentence | None:
    """ "All towers have the same colour on top"; "no two bases have the same colour"; "the left and the right tower …"."""
    if not _varying(say) or say.world.boxes[0] < 2:
        return None
    _prepare(say)
    attribute = say.rng.choice(_varying(say))
    word, name = say.rng.choice(attribute.words), say.lexicon.names[attribute.name]
    box, boxes, items = say.box, say.boxes, say.items
    at, tops, top, condition = say.pick(
        ("(on top|at the top|at the very top)", f"(top {items}|tops of the {boxes}|topmost {items}|uppermost {items})", "top", TOP),
        ("(at the bottom|at the base|at the very bottom)", f"(bottom {items}|bases of the {boxes}|bases|lowest {items})", "(base|bottom)", BOTTOM),
    )  # fmt: skip
    values = f"count({name}({mean.those(mean.ALL_ITEMS, condition)}))"
    how = say.weighted((3, "same"), (3, "different"), (1.5, "two alike"), (1, "number"), (2, "pair"), (1, "not same"))
    if how == "pair" and len(say.lexicon.distinct_places) > 1:
        first, second = say.two_places()
        a, b = (f"{name}({mean.those(where.box, condition)})" for where in (first, second))
        if say.chance(0.35):
            text = say.pick(f"~have different {word}s {at}", f"~do not have the same {word} {at}")
            return Sentence(f"{first.subject} and {second.subject} {text}", f"{a} != {b}")
        return Sentence(say.pick(
            f"{first.subject} and {second.subject} ~(have|share) the same {word} {at}",
            f"{first.subject} ~has the same {word} {at} as {second.subject}",
            f"the {top} of {first.subject} ~(has|is) the same {word} as the {top} of {second.subject}",
            f"the {top}s of {first.subject} and {second.subject} ~(match|agree) in {word}",
        ), f"{a} == {b}")  # fmt: skip
    if how in ("same", "not same", "pair"):
        is_not = how == "not same"
        text = say.pick(
            f"(all|all the|all of the) {boxes} ~have the same {word} {at}", f"the {tops} ~are all the same {word}",
            f"every {box} ~has the same {word} {at}",
            f"the {tops} all ~(have the same {word}|match in {word}|share the same {word})",
            f"(all|all the) {boxes} ~have the same {top} {word}",
            f"no two {boxes} ~have different {word}s {at}", f"there ~is (only|just) one {word} {at} of the {boxes}",
            f"{box} {top}s: all [the] same {word}",
        ) if not is_not else say.pick(
            f"not all [of the] {boxes} ~have the same {word} {at}", f"the {tops} ~(are not|aren't) all the same {word}",
        )  # fmt: skip
        return Sentence(text, f"{values} {'>= 2' if is_not else '== 1'}")
    if how == "number":
        number = say.pick(2, 2, 3)
        return Sentence(
            f"there ~are [exactly] {say.number(number)} [different] {word}s among the {tops}", f"{values} == {number}"
        )
    number_of_ends = "count(all_boxes)"
    if how == "different":
        text = say.pick(
            f"no two {boxes} ~have the same {word} {at}", f"(every|each) {box} ~has a different {word} {at}",
            f"the {tops} ~are all different {word}s",
            f"the {tops} all ~(have different {word}s|differ in {word})",
            f"(every|each) {box} ~has its own {word} {at}",
            f"no {word} ~(is|occurs|appears) {at} of (two|more than one) {boxes}",
            f"no two {boxes} ~share (a|the same) {top} {word}", f"{box} {top}s: all different {word}s",
        )  # fmt: skip
        return Sentence(text, f"{values} == {number_of_ends}")
    text = say.pick(
        f"(at least two|two or more) [of the] {boxes} ~have the same {word} {at}",
        f"some {word} ~(is|occurs) {at} of (at least two|more than one of the) {boxes}",
        f"not all [of the] {boxes} ~have different {word}s {at}",
    )  # fmt: skip
    return Sentence(text, f"{values} < {number_of_ends}")


# ---------------------------------------------------------------- rules: blocks on blocks


def directly_on(say: Speaker) -> Sentence:
    """ "A black block sits directly on a yellow one"; "no black block has a yellow block right under it"."""
    _prepare(say)
    first = _kind(say)
    second = _kind(say, noun=False) if say.chance(0.85) else first
    upper = say.chance(0.65)
    onto = "(directly on|right on|directly on top of|right on top of|directly above|immediately above|resting on|sitting on|placed directly on)"
    under = (
        "(directly under|right under|directly below|immediately below|directly beneath|right beneath|just underneath)"
    )
    relation, found = (onto, "get_directly_below(@)") if upper else (under, "get_directly_above(@)")
    condition = mean.some(found, second.condition)
    items = mean.ALL_ITEMS
    there = first.among(items, condition)
    others = first.among(items, mean.negation(condition))
    other = f"another {second.singular}" if second is first else second.a
    be = f"~is {relation} {other}"
    number = say.small(2, 3)
    said = say.number(number)
    reverse = f"(directly|right|immediately) {'above' if upper else 'below'} it"
    text, meaning = say.weighted(
        (3, (f"{first.a} {be}", f"exist({there})")),
        (2, (say.pick(f"there ~is {first.a} {relation} {other}", f"(I|you|we) ~(can see|see) {first.a} {relation} {other}", f"at least one {first.singular} {be}"), f"exist({there})")),
        (3, (f"(every|each) {first.singular} {be}", f"not exist({others})")),
        (1, (f"(all|all the) {first.plural} ~are {relation} {other}", f"not exist({others})")),
        (1, (f"not every {first.singular} {be}", f"exist({others})")),
        (3, (say.pick(
            f"(no|not a single) {first.singular} {be}", f"there ~is (no|never a) {first.singular} {relation} {other}",
            f"none of the {first.plural} ~is {relation} {other}",
            f"{first.a} ~is never {relation} {other}", f"no {second.singular} ~has {first.a} {reverse}",
        ), f"not exist({there})")),
        (1.5, (f"(exactly|only|just) one {first.singular} {be}", f"count({there}) == 1")),
        (1, (f"(|exactly ){said} {first.plural} ~are {relation} {other}", f"count({there}) == {number}")),
        (1, (f"at least {said} {first.plural} ~are {relation} {other}", f"count({there}) >= {number}")),
    )  # fmt: skip
    return Sentence(text, meaning)


def nothing_on(say: Speaker) -> Sentence:
    """ "There is nothing on top of a black block"; "every black block has something under it"."""
    _prepare(say)
    kind = _kind(say)
    side, found = say.pick(
        ("(on top of|on|above)", "get_box_all_above(@)"), ("(under|below|beneath)", "get_box_all_below(@)")
    )
    its = "on top of it" if found == "get_box_all_above(@)" else "(under|below|beneath) it"
    there = kind.among(mean.ALL_ITEMS, f"exist({found})")
    bare = kind.among(mean.ALL_ITEMS, f"not exist({found})")
    text, meaning = say.pick(
        (f"(every|each) {kind.singular} ~has (something|another {say.item}|a {say.item}) {its}", f"not exist({bare})"),
        (f"there ~is {kind.a} with nothing {its}", f"exist({bare})"),
        (f"(no|not one) {kind.singular} ~has anything {its}", f"not exist({there})"),
        (f"nothing ~is {side} the {kind.plural}", f"not exist({there})"),
        (f"(exactly|only|just) one {kind.singular} ~has something {its}", f"count({there}) == 1"),
    )
    return Sentence(text, meaning)


RULES = (
    (6.0, said_of_towers), (3.0, counted), (1.5, restricted), (2.0, only_tower), (0.8, all_but), (5.0, block_at),
    (2.0, height_of), (1.5, in_its_tower), (1.5, in_order),
    (3.5, compared_heights), (3.0, extreme), (3.0, all_heights), (3.0, ends_compared), (3.5, directly_on), (0.7, nothing_on),
)  # fmt: skip
