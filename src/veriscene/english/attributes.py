"""What can be said about the values of an attribute: the same colour, different prices, three sizes."""

from __future__ import annotations

from veriscene.english import clauses
from veriscene.english import meaning as mean
from veriscene.english.clauses import Content, fill
from veriscene.english.speaker import Domain, Speaker
from veriscene.english.tables import tables
from veriscene.world.world_file import plural_of

_TABLES = tables(__name__)


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
    test, table = say.weighted(
        (4, (f"{found} <= 1", "same")),
        (2.5, (f"{found} == count({among})", "different")),
        (0.8, (f"{found} < count({among})", "some_same")),
        (1, (f"{found} > 1", "some_different")),
        (2.5, (amount.test.format(found), "amounts" if kind.condition else "amounts_shown")),
        (0.6 * (total > 1), (f"{found} == {total}", "every_value")),
        (0.3 * (1 < total < 5), (mean.both(*once), "one_of_each")),
    )
    if table in ("same", "different") and say.chance(0.2):
        size, table = say.small(2, 4), f"both_{table}"
        words["both"] = "both" if size == 2 and say.chance(0.5) else f"(the|all) {say.number(size)}"
        test = mean.both(f"count({among}) == {size}", test)
    things, plural, texts = "", amount.plural, _TABLES[table].wordings
    if table == "amounts_shown":
        things = f"{amount.words} {different} {words['cn']}"
    elif table in ("every_value", "one_of_each"):
        texts = [each for each in texts if "{X" in each or not kind.condition]
        plural = table == "every_value"
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
