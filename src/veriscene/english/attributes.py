"""What can be said about the values of an attribute: the same colour, different prices, three sizes."""

from __future__ import annotations

from veriscene.english import clauses
from veriscene.english import meaning as mean
from veriscene.english.clauses import Content, fill
from veriscene.english.speaker import Domain, Speaker
from veriscene.english.tables import wordings
from veriscene.english.words import plural_of

_SAME = wordings("""
    (all|all the|all of the) {Xs} ~(have|share) the same {c} / the {Xs} ~are all the same {c}
    the {Xs} ~have the same {c} / the {Xs} ~are (identical|uniform|the same) in {c}
    all [the] {Xs} ~are of the same {c} / every {X} ~has the same {c}
    no two {Xs} ~(differ in {c}|have different {cs}) / the {Xs} (don't|do not) differ in {c} / {Xs}: all same {c}
    the {Xs} ~(all share one|all share a single|share the same) {c} / {Xs} all same {c} / one {c} for all {Xs}
    every {X} ~has the same {c} as the others / all [the] {Xs} ~match in {c}
    the {c} of [all] the {Xs} ~is the same / no {X} ~is {more} than (another|the others)
    no {X} ~is {more} or {less} than (another|the others)
""")
_DIFFERENT = wordings("""
    no two {Xs} ~(have|share) the same {c} / the {Xs} ~all have different {cs}
    (all|all the|all of the) {Xs} ~have different {cs} / every {X} ~(has a different|has its own|is a different) {c}
    each {X} ~has a {c} of its own / {Xs}: all different {cs} / no {c} ~is shared by two {Xs}
    the {Xs} ~are all different in {c} / there (aren't|are not) two {Xs} (with|of) the same {c}
    no {c} ~(appears|occurs) twice among the {Xs} / all {Xs} of different {cs} / any two {Xs} ~differ in {c}
""")
_BOTH_SAME: tuple[str, ...] = ("{both} {Xs} ~(have the same {c}|are [of] the same {c}|share a {c}|match in {c})",)
_BOTH_DIFFERENT: tuple[str, ...] = ("{both} {Xs} ~(have different {cs}|are of different {cs}|differ in {c})",)
_SOME_SAME = wordings("""
    at least two {Xs} ~(have|share) the same {c} / there ~are at least two {Xs} (with|of) the same {c}
    not all [the] {Xs} ~have different {cs} / some {c} ~(appears|occurs) more than once among the {Xs}
""")
_SOME_DIFFERENT = wordings("""
    not all [of the] {Xs} ~have the same {c} / the {Xs} (don't|do not) all have the same {c}
    the {Xs} ~differ in {c} / the {Xs} (aren't|are not) all the same {c} / there ~are {Xs} of different {cs}
    {Xs} of different {cs}
""")
_AMOUNTS = wordings("""
    the {Xs} ~(come in|have|are of|show) {n} {d} {cn} / there ~are {n} {d} {cn} (of|among the) {Xs}
    {n} {d} {cn} ~(appear|occur|are found|can be seen) among the {Xs} / {Xs} in {n} {d} {cn}
    the number of {d} {cs} (of|among) the {Xs} ~is {n} / [number of] {d} {cs} of the {Xs}: {n} / {Xs}: {n} {d} {cn}
""")
_AMOUNTS_SHOWN = wordings("""
    {n} {d} {cn} ~(appear|occur|can be seen|are used|are present) / there ~are {n} {d} {cn}
    you ~can see {n} {d} {cn} / {n} {d} {cn} / the number of {d} {cs} ~is {n} / [number of] {d} {cs}: {n}
""")
_EVERY_VALUE = wordings("""
    (every|each) {c} ~(appears|occurs|is used|is present|is represented)
    all {t} {cs} ~(appear|are there|are present|are used) / there ~is at least one {X} of (each|every) {c}
    all [the] {cs} ~(appear|are present) / all {t} {cs}{list} / there ~are {Xs} of (all {t} {cs}{list}|every {c})
""")
_ONE_OF_EACH = wordings("""
    there ~is [exactly|just] one {X} of (each|every) {c}{list} / (each|every) {c} ~(appears|occurs) [exactly] once
    one {X} of each {c}{list} / each {X} ~has its own {c}, and all {t} {cs} are there
""")


def alike(say: Speaker, where: Domain) -> Content | None:
    """ "The circles have the same colour"; "the squares come in three sizes"; "two different colours"."""
    kind = clauses.free_kind(say, generic=0.35)
    attribute = clauses.free_attribute(say, kind.condition)
    if attribute is None:
        return None
    name, c, total = say.lexicon.names[attribute.name], say.rng.choice(attribute.words), len(attribute.choices)
    if say.chance(0.08) and len(values := clauses.value_kinds(say, 2, avoid=f"{name}(@)")) == 2:
        kind = clauses.joined(values, "and")
    among = kind.among(where.items)
    found = f"count({name}({among}))"
    # "One shape" and "two shapes" are items; only "two different shapes" are values.
    amount = clauses.amount(say, 2 if attribute.is_noun else 1, max(3, min(total, 4)))
    is_one = not amount.plural
    different = "" if is_one else "(different|distinct)" if attribute.is_noun else "[different|distinct]"
    words = {"c": c, "cs": plural_of(c), "cn": c if is_one else plural_of(c), "d": different, "n": amount.words}
    if attribute.more:
        words |= {"more": attribute.more, "less": attribute.less}
    if total:
        named = [say.rng.choice(each.words) for each in say.rng.sample(attribute.choices, total)]
        listed = f"(,|:) {', '.join(named[:-1])} and {named[-1]}" if say.chance(0.3) and 1 < total < 5 else ""
        words |= {"t": say.number(total), "list": listed}
    once = [f"count({kind.among(where.items, say.has(attribute, each))}) == 1" for each in attribute.choices]
    test, texts = say.weighted(
        (4, (f"{found} <= 1", _SAME)),
        (2.5, (f"{found} == count({among})", _DIFFERENT)),
        (0.8, (f"{found} < count({among})", _SOME_SAME)),
        (1, (f"{found} > 1", _SOME_DIFFERENT)),
        (2.5, (amount.test.format(found), _AMOUNTS if kind.condition else _AMOUNTS_SHOWN)),
        (0.6 * (total > 1), (f"{found} == {total}", _EVERY_VALUE)),
        (0.3 * (1 < total < 5), (mean.both(*once), _ONE_OF_EACH)),
    )
    if texts in (_SAME, _DIFFERENT) and say.chance(0.2):
        size = say.small(2, 4)
        texts = _BOTH_SAME if texts == _SAME else _BOTH_DIFFERENT
        words["both"] = "both" if size == 2 and say.chance(0.5) else f"(the|all) {say.number(size)}"
        test = mean.both(f"count({among}) == {size}", test)
    things, plural = "", amount.plural
    if texts == _AMOUNTS_SHOWN:
        things = f"{amount.words} {different} {words['cn']}"
    elif texts in (_EVERY_VALUE, _ONE_OF_EACH):
        texts = tuple(each for each in texts if "{X" in each or not kind.condition)
        plural = texts[-1] in _EVERY_VALUE
        if not plural:
            things = f"[exactly|just] one {kind.singular} of (each|every) {c}{words['list']}"
        elif not kind.condition:
            things = f"(all {words['t']} {words['cs']}|(each|every) {c}){words['list']}"
    return Content(test, things, plural, fill(say, texts, kind, **words))


def values(say: Speaker, where: Domain) -> Content | None:
    """Values without a noun: "yellow", "no blue", "yellow but no black"."""
    options = [
        each
        for each in clauses.named_attributes(say)
        if each.kind == "categorical" and not each.is_noun and len(each.choices) > 1
    ]
    if not options:
        return None
    attribute = say.rng.choice(options)
    first, second = say.rng.sample(attribute.choices, 2)
    a, b = say.rng.choice(first.words), say.rng.choice(second.words)
    x, y = (mean.some(where.items, say.has(attribute, each)) for each in (first, second))
    test, things = say.weighted(
        (2, (x, f"(|something|some) {a}")),
        (1.5, (mean.negation(x), f"(no {a}|nothing {a}|no {a} at all)")),
        (1.5, (mean.both(x, y), f"[both] {a} and {b}")),
        (1, (mean.both(x, mean.negation(y)), f"{a} but no {b}")),
        (1, (mean.either(x, y), f"{a} or {b}")),
        (1, (mean.both(f"not {x}", f"not {y}"), f"(neither {a} nor {b}|no {a} or {b}|no {a} and no {b})")),
        (0.7, (mean.every(where.items, say.has(attribute, first)), f"(only|just|nothing but) {a}")),
    )
    return Content(test, things, is_negative=things.startswith(("(no", "(neither")))


CONTENTS = ((4.0, alike), (1.0, values))
