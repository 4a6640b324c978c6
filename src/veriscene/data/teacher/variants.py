"""Variants of a teacher's statements: other colours, shapes, sizes and numbers, in statement and program alike, and
other wordings."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from veriscene.config import TeacherConfig
from veriscene.data.teacher.statements import Progress, Taught, plain
from veriscene.data.teacher.workers import Workers
from veriscene.language.bulk.arrays import SceneArrays
from veriscene.language.bulk.evaluation import BulkProgram
from veriscene.language.notation import parse
from veriscene.worlds.nlvr.paraphrase import paraphrase
from veriscene.worlds.nlvr.scene_drawing import SceneKind
from veriscene.worlds.nlvr.variation import vary

STATEMENTS_PER_BLOCK, BLOCKS_PER_ROUND = 8, 32  # after a round there is progress to show
TRIES_PER_VARIANT = 4
SCENES = 500  # of the corpus, on which a variant is tried
# Nearly always true or nearly always false: "five towers", "at most six items". It would teach next to nothing.
LEAST_SHARE = 0.02


@dataclass(frozen=True)
class Varying:
    """Makes variants of statements in blocks, as a worker process does."""

    statements: Sequence[Taught]
    scenes: Mapping[SceneKind | None, SceneArrays]
    count: int  # for each statement, at most
    paraphrased: float  # the share that is tried in another wording
    seed: int

    blocks = BLOCKS_PER_ROUND

    def make(self, epoch: int, block: int) -> list[Taught]:
        """Of some statements; `epoch` counts the rounds before."""
        at = (epoch * BLOCKS_PER_ROUND + block) * STATEMENTS_PER_BLOCK
        return [each for one in self.statements[at : at + STATEMENTS_PER_BLOCK] for each in self._variants(one)]

    def _variants(self, statement: Taught) -> list[Taught]:
        rng, program = random.Random(f"{self.seed} {statement.text}"), parse(statement.program)
        found: list[Taught] = []
        tried = {plain(statement.text)}
        for _ in range(self.count * TRIES_PER_VARIANT):
            text, meaning = vary(rng, statement.text, program)
            if rng.random() < self.paraphrased:
                text = paraphrase(rng, text)
            if plain(text) not in tried and self._is_instructive(meaning, statement.kind):
                found.append(replace(statement, text=text, program=meaning))
            tried.add(plain(text))
            if len(found) == self.count:
                break
        return found

    def _is_instructive(self, meaning: str, kind: SceneKind | None) -> bool:
        share = BulkProgram(parse(meaning)).holds(self.scenes[kind]).mean()
        return bool(LEAST_SHARE <= share <= 1 - LEAST_SHARE)


def vary_statements(
    statements: Sequence[Taught],
    teacher: TeacherConfig,
    pools: Mapping[SceneKind, SceneArrays],
    workers: int,
    progress: Progress,
) -> list[Taught]:
    """Up to `teacher.variants` of each statement, none with the text of a statement; they depend on the settings and on
    the scenes, not on the number of workers."""
    rng = np.random.default_rng(teacher.seed)
    scenes: dict[SceneKind | None, SceneArrays] = {}
    for kind, pool in pools.items():
        scenes[kind] = pool[rng.permutation(len(pool))[:SCENES]]
    scenes[None] = SceneArrays.concatenated(scenes.values())
    with_scenes = [each for each in statements if len(scenes[each.kind])]
    if not with_scenes:
        return []
    known = {plain(each.text) for each in statements}
    variants: dict[str, Taught] = {}
    per_round = STATEMENTS_PER_BLOCK * BLOCKS_PER_ROUND
    varying = Varying(with_scenes, scenes, teacher.variants, teacher.paraphrased, teacher.seed)
    with closing(Workers(varying, workers)) as processes:
        for number in range(-(-len(with_scenes) // per_round)):
            for each in chain(*processes.make(number)):
                if plain(each.text) not in known:
                    variants.setdefault(plain(each.text), replace(each, scenes=teacher.grammar_scenes))
            progress(min((number + 1) * per_round, len(with_scenes)), len(with_scenes))
    return list(variants.values())
