"""A judge of items behind eyes."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest

import veriscene
from samples import random_box
from small_models import EXAMPLES, small_checkpoint
from veriscene.data.encoder import Input
from veriscene.errors import InputError
from veriscene.judge.judge import EyesJudge, Question, TorchJudge
from veriscene.models.vision import eyes as vision
from veriscene.models.vision.eyes import Eyes
from veriscene.world.scene import Scene
from veriscene.worlds.nlvr import decode
from veriscene.worlds.nlvr.raster import Pixels, pixels


class PerfectEyes:
    """Sees what is there in a picture that was enlarged without interpolation."""

    def scenes(self, pictures: Sequence[Pixels]) -> list[Scene]:
        return [decode.scene(np.ascontiguousarray(each[:: len(each) // 100, :: len(each) // 100])) for each in pictures]


PERFECT = cast(Eyes, PerfectEyes())


def test_with_perfect_eyes_a_verdict_is_that_on_the_scene() -> None:
    judge = TorchJudge(small_checkpoint("biatt-pointer"))
    seeing = EyesJudge(judge, PERFECT)
    expected = judge([(example.statement, example.scene) for example in EXAMPLES])
    large = [np.repeat(np.repeat(pixels(each.scene)[..., :3], 2, axis=0), 2, axis=1) for each in EXAMPLES]
    for verdicts in (
        seeing([(example.statement, example.scene) for example in EXAMPLES]),
        seeing([Question(each.statement, picture=picture) for each, picture in zip(EXAMPLES, large, strict=True)]),
    ):
        assert [v.probability for v in verdicts] == pytest.approx([e.probability for e in expected], abs=1e-6)
        assert [v.unknown_words for v in verdicts] == [e.unknown_words for e in expected]


def test_models_of_pixels_refuse_eyes() -> None:
    judge = TorchJudge(small_checkpoint("biatt"))
    judge.encoder = replace(judge.encoder, inputs=frozenset({Input.PIXELS}))
    with pytest.raises(InputError, match="reads pixels itself"):
        EyesJudge(judge, PERFECT)


def test_a_name_that_ends_with_pixels_has_eyes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vision.Eyes, "load", classmethod(lambda cls, **_: PERFECT))
    seeing, plain = veriscene.load("biatt-pointer-pixels"), veriscene.load("biatt-pointer")
    assert isinstance(seeing, EyesJudge) and isinstance(veriscene.load("best", eyes=True), EyesJudge)
    boxes = [random_box(random.Random(seed)) for seed in range(3)]
    scene = Scene((boxes[0], boxes[1], boxes[2]))
    statement = "There is a yellow circle."
    assert seeing(statement, scene).probability == pytest.approx(plain(statement, scene).probability, abs=1e-6)


def test_missing_eyes_are_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(vision, "SHIPPED", tmp_path / "eyes.safetensors")
    with pytest.raises(InputError, match="the eyes are missing; `veriscene pretrain eyes`"):
        veriscene.load("best-pixels")
