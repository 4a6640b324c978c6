"""Which contents boxes and towers have at the level "broad", and how they are attached to the noun."""

from __future__ import annotations

from collections.abc import Mapping

from veriscene.worlds.nlvr.scene_drawing import SceneKind
from veriscene.worlds.nlvr.wordings import box_contents, nouns
from veriscene.worlds.nlvr.wordings import quantifiers as q
from veriscene.worlds.nlvr.wordings import tower_contents as towers
from veriscene.worlds.nlvr.wordings.broad import borders, likeness, parts, stacks, tower_parts, tower_relations
from veriscene.worlds.nlvr.wordings.descriptions import any_box, box_where, box_without, items_are, tower_of_color
from veriscene.worlds.nlvr.wordings.wording import Pattern, Phrase, Things, Voice, Weighted, both, joined

FEW: Weighted[q.Quantifier] = (
    *((8, q.A), (5, q.AT_LEAST), (5, q.NUMBER), (3, q.EXACTLY), (2, q.ONLY)),
    *((1, q.Quantifier("more than {n} {things}", "count({all}) > {n}")), (1, q.A_LOT_OF)),
)


def some_plural(voice: Voice) -> Phrase:
    """As in "blue blocks": at least one."""
    things = nouns.some_things(voice)
    return Phrase(things.plural, f"exist({things.among(q.ITEMS_OF_BOX)})")


def no_things(voice: Voice) -> Phrase:
    """As in "no blue item", "no circles"."""
    things = nouns.some_things(voice)
    return Phrase(f"no {voice.one_of(things.singular, things.plural)}", f"not exist({things.among(q.ITEMS_OF_BOX)})")


def many(voice: Voice) -> Phrase:
    """As in "many items"."""
    return q.quantified(voice, nouns.anything(voice), q.ITEMS_OF_BOX, ((2, q.MANY), (1, q.A_LOT_OF)))


def at_border(voice: Voice) -> Phrase:
    """As in "two circles touching the base"."""
    return q.quantified(voice, borders.things_at_border(voice, of_a_box=False), q.ITEMS_OF_BOX, q.INSIDE)


def thing_at_border(voice: Voice) -> Phrase:
    """As in "a small yellow square and it is not touching the wall", "only one circle and it is touching the wall"."""
    things, place = borders.some_things(voice), voice.one_of(borders.at_border, borders.not_at_border)(voice, False)
    found = f"exist({things.that(place).among(q.ITEMS_OF_BOX)})"
    words, count = voice.one_of((f"a {things.singular}", ""), (f"only {voice.number(1)} {things.singular}", "== 1"))
    counted = f"count({things.among(q.ITEMS_OF_BOX)}) == 1" if count else ""
    return Phrase(f"{words} and it is {place.words}", both(counted, found))


def several(voice: Voice) -> Phrase:
    """As in "a yellow square, a black circle and more than 2 blue items"."""
    things = nouns.different_things(voice, voice.weighted((6, 2), (3, 3), (1, 4 if voice.kind == "scatter" else 3)))
    if voice.kind == "scatter" and voice.chance(0.05):
        things[-1] = things[-1].that(borders.some_border(voice, of_a_box=False))
    if voice.kind == "scatter" and voice.chance(0.05):
        things[-1] = things[-1].that(Phrase("not being of small size", "not is_small(x)", 2 / 3))
    return joined([q.quantified(voice, each, q.ITEMS_OF_BOX, FEW) for each in things])


def two_colored(voice: Voice) -> Phrase:
    """As in "a yellow and blue circle", "two triangles and one circle that are black"."""
    one, other = voice.two_of(*nouns.COLORS)
    shape, second = voice.two_of(*nouns.SHAPES)
    found = {
        color: f"filter_obj({q.ITEMS_OF_BOX}, lambda x: {nouns.COLORS[color]} and {nouns.SHAPES[shape]})"
        for color in (one, other)
    }
    other_shape = f"filter_obj({q.ITEMS_OF_BOX}, lambda x: {nouns.COLORS[one]} and {nouns.SHAPES[second]})"
    words, meaning = voice.weighted(
        (3, (f"a {one} and {other} {shape}", f"exist({found[one]}) and exist({found[other]})")),
        (3, (f"a {one} and a {other} {shape}", f"exist({found[one]}) and exist({found[other]})")),
        (2, (f"{one} {shape}s and {other} {shape}s", f"exist({found[one]}) and exist({found[other]})")),
        (
            2,
            (
                f"{voice.number(2)} {shape}s and {voice.number(1)} {second} that are {one}",
                f"count({found[one]}) == 2 and count({other_shape}) == 1",
            ),
        ),
    )
    return Phrase(words, meaning)


def number_and_end(voice: Voice) -> Phrase:
    """As in "exactly three blocks with a black block at the top", "4 blocks and the base is blue"."""
    whole = q.quantified(voice, nouns.anything(voice), q.ITEMS_OF_BOX, parts.TOTALS, least=2)
    ends: Weighted[Pattern] = (
        (8, tower_parts.at_part),
        (3, tower_parts.at_both_ends),
        (3, box_contents.holds_neighbours),
    )
    rare: Weighted[Pattern] = (
        (2, tower_relations.between),
        (2, tower_relations.stacked),
        (1, tower_relations.stacked_and_end),
    )
    end = voice.weighted(*ends, *rare, (1, towers.holds_next_to_end))(voice)
    link = voice.weighted((6, "having"), (3, "with"), (3, "and"), (2, "which has"), (1, "and has"), (1, "and with"))
    if voice.chance(0.04):
        return Phrase(f"{whole.words} not having {end.words}", f"{whole.meaning} and not ({end.meaning})")
    if voice.chance(0.15):
        clause = voice.weighted(*tower_parts.CLAUSES)(voice)
        return Phrase(
            f"{whole.words} {voice.one_of('and', 'where')} {clause.words}", f"{whole.meaning} and {clause.meaning}"
        )
    return Phrase(f"{whole.words} {link} {end.words}", f"{whole.meaning} and {end.meaning}")


TOWER: Weighted[Pattern] = (
    (26, tower_parts.at_part),
    (10, towers.holds_block_at),
    (14, box_contents.holds_some),
    (12, box_contents.holds_number),
    (12, box_contents.holds_neighbours),
    (12, number_and_end),
    (5, likeness.only_kinds),
    (5, parts.of_which),
    (5, parts.all_of_which),
    (5, tower_relations.stacked),
    (4, several),
    (4, tower_parts.at_both_ends),
    (3, some_plural),
    (1, no_things),
    (3, likeness.variety),
    (2, parts.divided),
    (2, likeness.alike),
    (1, likeness.some_alike),
    (2, likeness.all_alike),
    (2, tower_relations.between),
    (2, towers.holds_next_to_end),
    (1, tower_relations.stacked_and_end),
    (1, likeness.single_look),
    (1, parts.and_others),
    (1, parts.other_kind),
    (1, parts.including),
    (1, box_contents.compared),
)
# Where a tower is called a box, and its blocks items.
STACK: Weighted[Pattern] = (
    (10, box_contents.holds_some),
    (8, box_contents.holds_number),
    (8, stacks.item_on_top),
    (7, stacks.wall_and_above),
    (4, stacks.top_and_beneath),
    (7, parts.of_which),
    (6, parts.divided),
    (5, likeness.only_kinds),
    (4, likeness.variety),
    (3, several),
    (3, box_contents.holds_neighbours),
    (2, stacks.between_and_nothing_above),
    (2, box_contents.holds_touching_pair),
    (2, borders.colored_pair),
    (2, parts.all_of_which),
    (1, likeness.alike),
    (1, likeness.all_alike),
    (1, likeness.single_look),
    (1, parts.other_kind),
    (1, some_plural),
)
SCATTER: Weighted[Pattern] = (
    (24, box_contents.holds_some),
    (18, several),
    (18, box_contents.holds_number),
    (9, parts.of_which),
    (8, at_border),
    (1, thing_at_border),
    (1, likeness.some_alike),
    (5, likeness.only_kinds),
    (4, likeness.variety),
    (4, parts.all_of_which),
    (4, parts.divided),
    (2, parts.those_are),
    (3, some_plural),
    (1, no_things),
    (1, many),
    (3, two_colored),
    (3, likeness.kinds_and_more),
    (2, likeness.alike),
    (2, likeness.all_alike),
    (2, likeness.single_look),
    (2, parts.including),
    (2, parts.and_others),
    (1, parts.other_kind),
    (1, borders.colored_pair),
    (1, box_contents.holds_touching_pair),
    (1, box_contents.holds_neighbours),
    (1, box_contents.compared),
    (1, box_contents.holds_parity),
)


def content(voice: Voice) -> Phrase:
    if voice.kind == "scatter":
        return voice.weighted(*SCATTER)(voice)
    return voice.weighted(*(TOWER if voice.box == "tower" else STACK))(voice)


LINKS: Mapping[SceneKind, Weighted[str]] = {
    "tower": (
        (84, "with"),
        (8, "that {has}"),
        (12, "which {has}"),
        (7, "having"),
        (2, "that {contains}"),
        (1, "containing"),
    ),
    "scatter": (
        *((84, "with"), (8, "that {has}"), (10, "which {has}"), (1, "having")),
        *((4, "containing"), (2, "that {contains}"), (3, "which {contains}")),
    ),
}


def box_with(voice: Voice, held: Phrase) -> Things:
    link = voice.weighted(*LINKS[voice.kind])
    return any_box(voice).that(Phrase(f"{link} {held.words}", held.meaning, 0.45))


def box_where_some(voice: Voice) -> Things:
    """As in "grey box where none of the blue objects are touching the edge"."""
    clause = items_are(voice, q.ITEMS_OF_BOX)
    return any_box(voice).that(
        Phrase(f"{voice.one_of('where', 'in which', 'that')} {clause.words}", clause.meaning, 0.4)
    )


def box_where_pair(voice: Voice) -> Things:
    """As in "box where a blue and yellow square are touching each other"."""
    pair = borders.colored_pair(voice)
    words = voice.one_of("where", "where", "in which") + " " + pair.words.replace(" touching", " are touching")
    return any_box(voice).that(Phrase(words.replace("closely are", "are closely"), pair.meaning, 0.2))


def box_without_but_with(voice: Voice) -> Things:
    """As in "box without a blue item, with two yellow items and at least one black item"."""
    without, *others = nouns.different_things(voice, voice.weighted((2, 2), (1, 3)))
    held = joined([q.quantified(voice, each, q.ITEMS_OF_BOX, FEW) for each in others])
    words = f"without a {without.singular}{voice.one_of(', with', ' and with', ' but with')} {held.words}"
    return any_box(voice).that(Phrase(words, both(f"not exist({without.among(q.ITEMS_OF_BOX)})", held.meaning), 0.3))


def described_box(voice: Voice) -> Things:
    if voice.box == "tower":
        return voice.weighted(
            (80, lambda v: box_with(v, content(v))),
            (10, tower_parts.tower_where),
            (4, tower_parts.tower_of_blocks),
            (4, tower_of_color),
            (2, box_where),
            (1, box_without),
        )(voice)
    return voice.weighted(
        (92, lambda v: box_with(v, content(v))),
        (4, box_where_some),
        (1, box_where_pair),
        (2, box_without),
        (1, box_without_but_with),
    )(voice)
