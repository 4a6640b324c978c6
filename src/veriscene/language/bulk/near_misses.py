"""Near misses: pairs of scenes, one small edit apart, of which a statement is true and false."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from veriscene.language.bulk.arrays import Array, SceneArrays

EditScenes = Callable[[np.random.Generator, SceneArrays], SceneArrays]  # each with one random small edit
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
    edit_scenes: EditScenes,
    statements: Sequence[Holds],
    starts: SceneArrays,
    owners: Array,
    truths: Array,
    *,
    wanted: int,
    rounds: int,
) -> Pairs:
    """Walks by random small edits from the starting scenes; each walk ends where the truth of its statement changes.

    `owners` and `truths` (start,): each scene's statement, in ascending order, and whether it holds. Gives each
    statement up to `wanted` pairs (rounded up to an even number) within that many rounds of edits; there may be none.
    At most half of them begin with a true scene and half with a false one, if there are starts of both kinds, so that
    whether a scene was edited says little about its label.
    """
    world, fields, sides = starts.world, starts.fields.copy(), 2 * owners + truths
    from_side = np.bincount(sides, minlength=2 * len(statements)).reshape(-1, 2)
    room = np.where((from_side > 0).all(axis=1, keepdims=True), -(-wanted // 2), wanted).repeat(2, axis=1).reshape(-1)
    walking = np.arange(len(owners))
    pairs: list[tuple[Array, Array, Array]] = []  # (starts, before, after)
    for _ in range(rounds):
        walking = walking[room[sides[walking]] > 0]
        if not len(walking):
            break
        edited = edit_scenes(rng, SceneArrays(world, fields[:, walking]))
        turned = np.zeros(len(walking), bool)
        bounds = np.searchsorted(owners[walking], np.arange(len(statements) + 1))
        for number, holds in enumerate(statements):
            mine = np.arange(bounds[number], bounds[number + 1])
            if len(mine):
                turns = mine[holds(edited, mine) != truths[walking[mine]]]
                turned[turns] = True
                for side in (2 * number, 2 * number + 1):
                    kept = turns[sides[walking[turns]] == side][: room[side]]
                    room[side] -= len(kept)
                    pairs.append((walking[kept], fields[:, walking[kept]], edited.fields[:, kept]))
        fields[:, walking] = edited.fields
        walking = walking[~turned]
    begun = np.concatenate([np.empty(0, np.intp), *(pair[0] for pair in pairs)])
    before, after = (np.concatenate([fields[:, :0], *(pair[at] for pair in pairs)], axis=1) for at in (1, 2))
    return Pairs(owners[begun], SceneArrays(world, before), SceneArrays(world, after), truths[begun])
