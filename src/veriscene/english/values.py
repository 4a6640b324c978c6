"""Rules in which a value stands for what has it ("yellow appears twice"), and generic statements about a kind ("if a
square is black, it is on the left"), about items that are alone, and about boxes from left to right."""

from __future__ import annotations

from veriscene.english import meaning as mean
from veriscene.english.speaker import Domain, Kind, Property, Sentence, Speaker
from veriscene.english.tables import tables
from veriscene.world.schema import Attribute, Choice

_TABLES = tables(__name__)
_ORDERS = (("from left to right", 1), ("going left to right", 1), ("left to right", 1), ("from right to left", -1))


def _value(say: Speaker) -> tuple[Attribute, Choice, str] | None:
    """A value that is said in one word, and the word."""
    found = [
        (attribute, choice, word)
        for attribute, choice in say.values(nouns=False)
        for word in choice.words
        if attribute.kind == "categorical" and " " not in word
    ]
    return say.rng.choice(found) if found else None


def _place(where: Domain) -> str:
    return "" if where.where in ("overall", "in total") else where.where


def value_appears(say: Speaker) -> Sentence | None:
    """ "Yellow appears at least once"; "blue shows up in every box"; "there is no black on the left"."""
    if (drawn := _value(say)) is None:
        return None
    attribute, choice, word = drawn
    condition = say.has(attribute, choice)
    if say.world.boxes[1] > 1 and say.chance(0.3):
        where = say.quantified()
        have, them = ("have", "them") if where.plural else ("has", "it")
        words = {"word": word, "in_boxes": where.where, "boxes": where.subject, "have": have, "them": them}
        return Sentence(_TABLES["appears_in_boxes"].say(say, **words), where.bind(mean.some("#", condition)))
    where = say.domain()
    place, those, value = _place(where), mean.those(where.items, condition), say.small(2, 5)
    said = say.number(value)
    if say.chance(0.3):
        is_there = say.chance(0.5)
        amount = say.pick("some", "some", "a bit of", "") if is_there else say.pick("no", "no", "not any")
        present = "present" if is_there else "(absent|missing|nowhere to be seen)"
        words = {"amount": amount, "word": word, "at": place, "here": where.subject, "present": present}
        return Sentence(_TABLES["is_there"].say(say, **words), f"{'' if is_there else 'not '}exist({those})")
    row = say.rng.choice(_TABLES["times"].rows)[1]
    times = row.wordings[0].format(said=said)
    fronted = f"{place}, {word} ~(appears|occurs|shows up) {times}" if place else f"{word} {times}"
    words = {"word": word, "times": times, "at": place, "fronted": fronted, "name": attribute.words[-1]}
    return Sentence(_TABLES["appears"].say(say, **words), row.columns[0].format(those=those, value=value))


def value_compared(say: Speaker) -> Sentence | None:
    """ "Blue is the most common colour"; "yellow outnumbers black on the left"; "the only colour is blue"."""
    if (drawn := _value(say)) is None:
        return None
    attribute, choice, word = drawn
    others = [each for each in attribute.choices if each is not choice]
    if not others or len(others) > 4:
        return None
    where, name = say.domain(), say.rng.choice(attribute.words)
    place, own = _place(where), mean.count(where.items, say.has(attribute, choice))
    how = say.weighted((2, "most"), (1, "least"), (2, "more"), (2, "only"), (1, "everywhere"))
    if how in ("most", "least"):
        sign = ">" if how == "most" else "<"
        common = say.pick("common", "frequent", "commonly used") if how == "most" else say.pick("common", "frequent")
        counts = [f"{own} {sign} {mean.count(where.items, say.has(attribute, each))}" for each in others]
        text = _TABLES["common"].say(say, word=word, how=how, common=common, name=name, at=place)
        return Sentence(text, mean.both(*counts))
    if how == "more":
        other = say.rng.choice(others)
        theirs = mean.count(where.items, say.has(attribute, other))
        second = say.rng.choice([each for each in other.words if " " not in each] or [other.word])
        row = say.rng.choice(_TABLES["more"].rows)[1]
        text = row.wordings[0].format(word=word, other=second, at=place)
        return Sentence(text, f"{own} {row.columns[0]} {theirs}")
    if how == "everywhere" and say.world.boxes[1] > 1:
        in_all = mean.every(mean.ALL_BOXES, mean.some("#", say.has(attribute, choice)), "#")
        not_all = [
            mean.negation(mean.every(mean.ALL_BOXES, mean.some("#", say.has(attribute, each)), "#")) for each in others
        ]
        boxes = say.pick(f"all the {say.boxes}", f"every {say.box}", f"all {say.boxes}", f"each {say.box}")
        text = f"{word} ~is the only {name} (present in|that appears in|found in|that occurs in|in) {boxes}"
        return Sentence(text, mean.both(in_all, *not_all))
    only_this = mean.every(where.items, say.has(attribute, choice))
    is_any = f"exist({where.items})" if say.world.items[0] == 0 else ""
    return Sentence(_TABLES["only_value"].say(say, word=word, name=name, at=place), mean.both(is_any, only_this))


def any_value_but(say: Speaker) -> Sentence | None:
    """ "No square is of any colour but yellow"; "the circles have no colour other than blue"."""
    if (drawn := _value(say)) is None:
        return None
    attribute, choice, word = drawn
    where, kind, name = say.domain(), say.kind(plain=True), say.rng.choice(attribute.words)
    if f"{say.lexicon.names[attribute.name]}(@)" in kind.condition:
        return None
    words = {"X": kind.singular, "Xs": kind.plural, "at": _place(where), "name": name, "word": word}
    text = _TABLES["any_value_but"].say(say, but="(but|other than|except|besides|apart from)", **words)
    return Sentence(text, f"not exist({kind.among(where.items, mean.negation(say.has(attribute, choice)))})")


def _said_of_one(say: Speaker, avoid: str) -> Property:
    """What can be said of an item after "it is": a value, a box, a wall, an end of its box."""
    how = say.weighted(
        (4, "value"), (2.5 * (say.world.boxes[1] > 1), "box"), (2, "end"), (1.0 * say.world.walls, "wall")
    )
    if how == "box":
        where = say.which()
        return Property(where.where, where.where, f"@.box == {where.box}")
    if how == "end":
        words, condition = say.pick(
            (
                "(the lowest one in its {}|at the bottom of its {}|the lowest in its {}|at the very bottom)",
                "is_bottom(@)",
            ),
            ("(the highest one in its {}|at the top of its {}|the topmost in its {}|at the very top)", "is_top(@)"),
        )
        words = say.expand(words.replace("{}", say.box))
        plural = words.replace("its", "their").replace("the lowest one", "the lowest ones")
        return Property(words, plural.replace("the highest one", "the highest ones"), condition)
    if how == "wall":
        words = say.expand("(touching a wall|at a wall|touching the edge|against a wall)")
        return Property(words, words, "is_touching_wall(@)")
    return say.property(avoid=avoid)


def _is_about_one(*conditions: str) -> bool:
    """Whether two of the conditions are about the same attribute."""
    about = [part.partition("==")[0] for each in conditions for part in each.split(" and ") if part]
    return len(about) != len(set(about))


def generic_condition(say: Speaker) -> Sentence | None:
    """ "If a square is black, it is in the right box"; "unless a shape is blue, it is not small"."""
    kind = say.kind(plain=True, modified=0, generic=0.4)
    first = say.property(avoid=kind.condition) if say.chance(0.75) else _said_of_one(say, kind.condition)
    second = _said_of_one(say, mean.both(kind.condition, first.condition))
    if _is_about_one(kind.condition, first.condition, second.condition):
        return None
    negative = say.chance(0.3)
    what = f"not {second.singular}" if negative else second.singular
    conclusion = mean.negation(second.condition) if negative else second.condition
    is_unless = say.chance(0.25)
    premise = mean.negation(first.condition) if is_unless else first.condition
    text = _TABLES["unless" if is_unless else "if"].say(say, X=kind.singular, p=first.singular, q=what)
    return Sentence(text, f"not exist({kind.among(mean.ALL_ITEMS, mean.both(premise, mean.negation(conclusion)))})")


def alone(say: Speaker) -> Sentence | None:
    """ "A black square is all by itself in the middle box"; "a blue triangle is all the left box contains"."""
    if say.world.boxes[1] < 2:
        return None
    kind = say.kind(plain=True, generic=0.05)
    words = {"alone": "(all alone|alone|all by itself|by itself|on its own|all on its own)", "X": kind.singular}
    if say.chance(0.6):
        where = say.which()
        text = _TABLES["alone_here"].say(say, at=where.where, here=where.subject, **words)
        return Sentence(text, mean.both(f"count({where.box}) == 1", mean.some(where.box, kind.condition)))
    text = _TABLES["alone"].say(say, box=say.box, boxes=say.boxes, **words)
    condition = mean.both("count(#) == 1", mean.some("#", kind.condition))
    return Sentence(text, mean.some(mean.ALL_BOXES, condition, "#"))


def shared_noun(say: Speaker) -> Sentence | None:
    """ "The left box has one black, one blue and two yellow triangles"."""
    attribute = say.attribute(nouns=False)
    if attribute is None or len(attribute.choices) < 2:
        return None
    choices = [each for each in attribute.choices if " " not in each.word]
    if len(choices) < 2:
        return None
    some = say.rng.sample(choices, min(len(choices), say.pick(2, 2, 3)))
    noun, nouns, base = say.item, say.items, ""
    if say.world.noun is not None and say.chance(0.6):
        choice = say.rng.choice(say.world.noun.choices)
        noun, nouns = say.rng.choice(say.lexicon.nouns[say.world.noun.name, choice.name])
        base = say.has(say.world.noun, choice)
    where = say.domain(quantified=0.25)
    amounts = [say.small(1, 4) for _ in some]
    words = [f"{say.number(n)} {say.rng.choice(each.words)}" for n, each in zip(amounts, some, strict=True)]
    tests = [
        f"{mean.count(where.items, mean.both(base, say.has(attribute, each)))} == {n}"
        for n, each in zip(amounts, some, strict=True)
    ]
    listed = f"{', '.join(words[:-1])} and {words[-1]} {nouns if amounts[-1] > 1 else noun}"
    be, has = ("is", "are")[amounts[0] > 1], "have" if where.plural else "has"
    texts = [f"{where.subject} ~({has}|{'contain' if where.plural else 'contains'}) {listed}"]
    if not where.is_quantified:
        texts += [f"there ~{be} {listed} {_place(where)}", f"{listed} {_place(where)}"]
    return Sentence(say.pick(*texts), where.bind(mean.both(*tests)))


def counts_in_order(say: Speaker) -> Sentence | None:
    """ "From left to right, the towers contain three, one and four blocks"; "the number of circles grows …"."""
    low, high = say.world.boxes
    if low != high or not 2 <= high <= 4:
        return None
    kind = say.kind(plain=True, generic=0.45)
    words, step = say.pick(*_ORDERS)
    boxes = [f"all_boxes[{at}]" for at in range(high)][::step]
    counts = [f"count({kind.among(box)})" for box in boxes]
    if say.chance(0.5):
        numbers = [say.small(0 if say.chance(0.2) else 1, 5) for _ in boxes]
        said = [say.number(number) for number in numbers]
        listed = f"{', '.join(said[:-1])} and {said[-1]}"
        text = say.pick(
            f"{words}, the {say.boxes} ~(contain|have|hold|show) {listed} {kind.plural}",
            f"the {say.boxes} ~(contain|have|hold) {listed} {kind.plural}, {words}",
            f"{kind.plural} per {say.box}, {words}: {', '.join(said)}",
            f"the {say.boxes} ~have {listed} {kind.plural} respectively"
            if step == 1
            else f"{listed} {kind.plural}, {words}",
        )
        tests = [f"{counted} == {number}" for counted, number in zip(counts, numbers, strict=True)]
        return Sentence(text, mean.both(*tests))
    grows = say.chance(0.5)
    sign = "<" if grows else ">"
    texts = [*_TABLES["growing"].wordings]
    if say.is_tower and not kind.condition:
        texts += _TABLES["getting_taller"].wordings
    more, verb = ("more", "(increases|grows|rises|goes up|gets larger)")
    if not grows:
        more, verb = ("(fewer|less)", "(decreases|falls|shrinks|goes down|drops|gets smaller)")
    slots = {"Xs": kind.plural, "box": say.box, "boxes": say.boxes, "order": words, "more": more, "grows": verb}
    text = say.rng.choice(texts).format(taller="taller" if grows else "shorter", **slots)
    return Sentence(text, f" {sign} ".join(counts))


def identical(say: Speaker) -> Sentence | None:
    """ "The left and the middle box are identical"; "all boxes look different"."""
    if say.world.boxes[0] < 2:
        return None
    alike = "(identical|exactly the same|exactly alike|the same)"
    if say.chance(0.6):
        first, second = say.two_places()
        text = _TABLES["identical"].say(say, here=first.subject, there=second.subject, alike=alike)
        return Sentence(text, f"all_same([{first.box}, {second.box}])")
    return Sentence(_TABLES["all_identical"].say(say, boxes=say.boxes, alike=alike), "all_same(all_boxes)")


def the_only(say: Speaker) -> Sentence | None:
    """ "The large blue square is the only square in the picture"."""
    where = say.domain()
    noun = say.world.noun
    wide = Kind(say.item, say.items)
    if noun is not None and say.chance(0.6):
        choice = say.rng.choice(noun.choices)
        wide = Kind(*say.rng.choice(say.lexicon.nouns[noun.name, choice.name]), say.has(noun, choice))
    found = say.property(noun=not wide.condition, avoid=wide.condition)
    narrow = found.singular if found.singular.startswith("a ") else f"a {found.singular} {wide.singular}"
    the = narrow.removeprefix("a ")
    place = _place(where)
    text = say.pick(
        f"(the|a) {the} ~is the only {wide.singular} {place}",
        f"the only {wide.singular} {place} ~is {narrow}",
        f"{place}, the only {wide.singular} ~is {narrow}" if place else f"only {wide.singular}: {narrow}",
    )
    every = wide.among(where.items)
    return Sentence(text, mean.both(f"count({every}) == 1", f"exist({wide.among(where.items, found.condition)})"))


def made_up(say: Speaker) -> Sentence | None:
    """ "Yellow squares make up half of all the squares shown"."""
    where, kind = say.domain(), say.kind(plain=True, modified=0, generic=0.3)
    found = say.property(noun=False, avoid=kind.condition)
    if " " in found.singular or found.condition.partition("==")[0] in kind.condition:
        return None
    place = _place(where)
    those, others = (kind.among(where.items, each) for each in (found.condition, mean.negation(found.condition)))
    share, meaning = say.pick(
        ("(half|exactly half)", f"count({those}) == count({others})"),
        ("(most|more than half|the majority|over half)", f"count({those}) > count({others})"),
        ("(less|fewer) than half", f"count({those}) < count({others})"),
        ("all", f"not exist({others})"),
    )
    words = {"ps": found.plural, "Xs": kind.plural, "share": share, "at": place}
    return Sentence(_TABLES["made_up"].say(say, at_or_shown=place or "[shown|here]", **words), meaning)


def and_both(say: Speaker) -> Sentence | None:
    """ "Exactly two squares are blue, and both rest on the floor"."""
    where, kind = say.domain(), say.kind(plain=True, modified=0, generic=0.2)
    first = say.property(avoid=kind.condition)
    second = _said_of_one(say, mean.both(kind.condition, first.condition))
    if _is_about_one(kind.condition, first.condition, second.condition) or (
        ".box ==" in second.condition and where.box
    ):
        return None
    value = say.small(1, 4)
    is_one, those = value == 1, kind.among(where.items, first.condition)
    they = {1: "(it is|it's|this one is|that one is)", 2: "(both are|both of them are|they are both|they're both)"}
    said = they.get(value, "(all are|all of them are|they are all|they're all|they all are)")
    noun, be = (kind.singular, "is") if is_one else (kind.plural, "are")
    what, tail = (first.singular, second.singular) if is_one else (first.plural, second.plural)
    exactly = say.pick("exactly ", "", "only ", "just ")
    text = f"{exactly}{say.number(value)} {noun} {_place(where)} ~{be} {what}, and {said} {tail}"
    bad = kind.among(where.items, mean.both(first.condition, mean.negation(second.condition)))
    return Sentence(text, mean.both(f"count({those}) == {value}", f"not exist({bad})"))


def empty_boxes(say: Speaker) -> Sentence | None:
    """ "No box is empty"; "every box has something in it"; "one of the boxes is empty"."""
    if say.world.boxes[1] < 2:
        return None
    where = say.quantified(simple=True)
    be, has, them = ("are", "have", "them") if where.plural else ("is", "has", "it")
    if say.chance(0.6):
        return Sentence(f"{where.subject} ~{be} empty", where.bind("not exist(#)"))
    text = f"{where.subject} ~{has} (something|anything|at least one {say.item}) in {them}"
    return Sentence(text, where.bind("exist(#)"))


def neighbours(say: Speaker) -> Sentence | None:
    """ "No two neighbouring blocks of the right tower share a colour"."""
    attribute = say.attribute(nouns=False)
    if not say.is_tower or attribute is None:
        return None
    where, name = say.domain(), say.rng.choice(attribute.words)
    function = say.lexicon.names[attribute.name]
    alike = mean.related("get_directly_above($)", f"{function}(@) == {function}($)")
    row = say.rng.choice(_TABLES["neighbours"].rows)[1]
    text = row.wordings[0].format(
        pair="(neighbouring|neighboring|adjacent|consecutive)",
        share=f"(share a {name}|have the same {name}|are the same {name})",
        items=say.items,
        at=_place(where),
    )
    related = mean.none if row.columns[0] == "none" else mean.some
    return Sentence(text, related(where.items, f"exist({alike})"))


RULES = (
    (4.0, value_appears), (2.5, value_compared), (0.6, any_value_but), (3.0, generic_condition), (1.5, alone),
    (2.0, shared_noun), (1.5, counts_in_order), (0.8, identical), (1.2, the_only), (1.0, made_up), (1.5, and_both),
    (0.7, empty_boxes), (0.8, neighbours),
)  # fmt: skip
