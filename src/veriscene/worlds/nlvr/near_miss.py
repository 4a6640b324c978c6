"""Near misses: pairs of scenes, one small edit apart, of which a statement is true and false."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from veriscene.language.bulk.arrays import Array, SceneArrays
from veriscene.language.bulk.evaluation import BulkProgram
from veriscene.language.notation import Statement
from veriscene.world.scene import Scene
from veriscene.worlds.nlvr.kinds import SCENE_KINDS
from veriscene.worlds.nlvr.scene_drawing import draw_scenes
from veriscene.worlds.nlvr.scene_editing import edit_scenes

PAIRS = 2  # for each statement of a corpus
STARTS, ROUNDS = 24, 12  # of the walks that find them
ONE_EDIT_MORE = 0.35

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
    """Walks by random small edits from the starting scenes; each walk ends where the truth of its statement changes.

    `owners` and `truths` (start,): each scene's statement, in ascending order, and whether it holds. Gives each
    statement up to `wanted` pairs (rounded up to an even number) within that many rounds of edits; there may be none.
    At most half of them begin with a true scene and half with a false one, if there are starts of both kinds, so that
    whether a scene was edited says little about its label.
    """
    fields, sides = starts.fields.copy(), 2 * owners + truths
    from_side = np.bincount(sides, minlength=2 * len(statements)).reshape(-1, 2)
    room = np.where((from_side > 0).all(axis=1, keepdims=True), -(-wanted // 2), wanted).repeat(2, axis=1).reshape(-1)
    walking = np.arange(len(owners))
    pairs: list[tuple[Array, Array, Array]] = []  # (starts, before, after)
    for _ in range(rounds):
        walking = walking[room[sides[walking]] > 0]
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
                for side in (2 * number, 2 * number + 1):
                    kept = turns[sides[walking[turns]] == side][: room[side]]
                    room[side] -= len(kept)
                    pairs.append((walking[kept], fields[:, walking[kept]], edited.fields[:, kept]))
        fields[:, walking] = edited.fields
        walking = walking[~turned]
    begun = np.concatenate([np.empty(0, np.intp), *(pair[0] for pair in pairs)])
    before, after = (np.concatenate([fields[:, :0], *(pair[at] for pair in pairs)], axis=1) for at in (1, 2))
    return Pairs(owners[begun], SceneArrays(before), SceneArrays(after), truths[begun])


def labelled_scenes(rng: np.random.Generator, statements: Sequence[Statement]) -> list[list[tuple[Scene, bool]] | None]:
    """Returns for each statement two scenes where it is true and two near misses where it is false, in random order.

    It is None if the search fails because the statement is almost always true or almost always false.
    """
    programs = [BulkProgram(statement.program) for statement in statements]
    starts = np.empty((len(statements), STARTS), np.intp)
    drawn, offset = [], 0
    for kind in SCENE_KINDS:
        mine = [number for number, statement in enumerate(statements) if statement.kind == kind]
        drawn.append(draw_scenes(rng, kind, len(mine) * STARTS))
        starts[mine] = offset + np.arange(len(drawn[-1])).reshape(len(mine), STARTS)
        offset += len(drawn[-1])
    scenes = SceneArrays.concatenated(drawn)
    truths = [program.holds(scenes, which) for program, which in zip(programs, starts, strict=True)]
    holds, owners = [program.holds for program in programs], np.arange(len(statements)).repeat(STARTS)
    pairs = find_pairs(
        rng, holds, scenes[starts.reshape(-1)], owners, np.concatenate(truths), wanted=PAIRS, rounds=ROUNDS
    )
    found = SceneArrays.concatenated([pairs.before, pairs.after])
    # Some get one edit more, if that does not change the truth: so the scenes of a pair are not always one edit apart.
    varied, is_varied = edit_scenes(rng, found), rng.random(len(found)) < ONE_EDIT_MORE
    result: list[list[tuple[Scene, bool]] | None] = []
    for number, program in enumerate(programs):
        mine = np.flatnonzero(pairs.statements == number)
        which, labels = np.concatenate([mine, mine + len(pairs.truths)]), pairs.truths[mine]
        labels = np.concatenate([labels, ~labels])
        changed = is_varied[which] & (program.holds(varied, which) == labels)
        chosen = np.where(changed[:, None, None], varied.fields[:, which], found.fields[:, which])
        labelled = list(zip(SceneArrays(chosen).scenes(), labels.tolist(), strict=True))
        is_complete = len(labelled) == 2 * PAIRS == len({scene for scene, _ in labelled})
        result.append([labelled[at] for at in rng.permutation(len(labelled))] if is_complete else None)
    return result
