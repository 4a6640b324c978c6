"""Near misses in bulk: pairs of scenes, one small edit apart, of which a statement is true and false."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from veriscene.meaning.bulk.arrays import Array, SceneArrays
from veriscene.meaning.bulk.editing import edit_scenes

# Whether the statement holds of the scenes with these numbers.
Holds = Callable[[SceneArrays, Array], Array]


@dataclass(frozen=True)
class Pairs:
    """`after` is `before` with one edit."""

    statements: Array  # (pair,): the statement's number
    before: SceneArrays
    after: SceneArrays
    truths: Array  # (pair,): whether the statement holds before; after, it is the other way round


def find_pairs(
    rng: np.random.Generator,
    statements: Sequence[Holds],
    starts: SceneArrays,
    owners: Array,
    truths: Array,
    *,
    wanted: int,
    rounds: int,
) -> Pairs:
    """Random walks of small edits from the starting scenes; each ends where the truth of its statement changes.

    `owners` and `truths` (start,): each scene's statement, in ascending order, and whether it holds. Gives each
    statement up to `wanted` pairs within that many rounds of edits; there may be none.
    """
    fields, found = starts.fields.copy(), np.zeros(len(statements), np.intp)
    walking = np.arange(len(owners))
    pairs: list[tuple[Array, Array, Array]] = []  # (starts, before, after)
    for _ in range(rounds):
        walking = walking[found[owners[walking]] < wanted]
        if not len(walking):
            break
        edited = edit_scenes(rng, SceneArrays(fields[:, walking]))
        turned = np.zeros(len(walking), bool)
        bounds = np.searchsorted(owners[walking], np.arange(len(statements) + 1))
        for number, holds in enumerate(statements):
            mine = np.arange(bounds[number], bounds[number + 1])
            if len(mine):
                turns = mine[holds(edited, mine) != truths[walking[mine]]]
                turned[turns] = True
                kept = turns[: wanted - found[number]]
                found[number] += len(kept)
                pairs.append((walking[kept], fields[:, walking[kept]], edited.fields[:, kept]))
        fields[:, walking] = edited.fields
        walking = walking[~turned]
    begun = np.concatenate([np.empty(0, np.intp), *(pair[0] for pair in pairs)])
    before, after = (np.concatenate([fields[:, :0], *(pair[at] for pair in pairs)], axis=1) for at in (1, 2))
    return Pairs(owners[begun], SceneArrays(before), SceneArrays(after), truths[begun])
