"""A judge of items behind eyes."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest

import veriscene
import veriscene.judge
from samples import random_box
from small_models import EXAMPLES, small_checkpoint
from veriscene.data.encoder import Input
from veriscene.errors import InputError
from veriscene.judge.checkpoint import TorchJudge
from veriscene.judge.explain import explain
from veriscene.judge.judge import EyesJudge, Question
from veriscene.models.vision import eyes as vision
from veriscene.models.vision.eyes import Eyes
from veriscene.world.scene import Box, Scene
from veriscene.worlds.nlvr import raster
from veriscene.worlds.nlvr.looks import WORLD
from veriscene.worlds.nlvr.raster import Pixels, pixels


class PerfectEyes:
    """Sees what is there in a picture that was enlarged without interpolation."""

    def scenes(self, pictures: Sequence[Pixels]) -> list[Scene]:
        return [
            raster.decode(np.ascontiguousarray(each[:: len(each) // 100, :: len(each) // 100])) for each in pictures
        ]


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


class Shortsighted(PerfectEyes):
    """Lists items from bottom to top, a pixel away from where they are, and misses the first of each box."""

    def __init__(self, missed: int = 0) -> None:
        self.missed = missed

    def scenes(self, pictures: Sequence[Pixels]) -> list[Scene]:
        return [Scene(tuple(map(self.blurred, scene.boxes))) for scene in super().scenes(pictures)]  # type: ignore[arg-type]

    def blurred(self, box: Box) -> Box:
        items = [replace(item, y=max(0, item.y - 1)) for item in sorted(box.items, key=lambda item: (-item.y, item.x))]
        return Box(tuple(items[self.missed :] or items))


def test_order_and_attention_refer_to_the_items_of_the_question() -> None:
    judge, eyes = TorchJudge(small_checkpoint("biatt-pointer")), Shortsighted()
    for example in EXAMPLES[:10]:
        seen = replace_boxes(example.scene, lambda box: Box(tuple(replace(i, y=max(0, i.y - 1)) for i in box.items)))
        found = EyesJudge(judge, cast(Eyes, eyes))(example.statement, example.scene)
        expected = judge(example.statement, seen)
        assert found.order == expected.order and found.seen is None
        assert found.attention is not None and expected.attention is not None
        for ours, theirs in (
            (found.attention.words_to_items, expected.attention.words_to_items),
            (found.attention.items_to_words, expected.attention.items_to_words),
        ):
            assert ours is not None and theirs is not None
            for box, other in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(box, other, atol=1e-6)
        explained = explain(EyesJudge(judge, cast(Eyes, eyes)), Question(example.statement, example.scene))
        assert explained.scene == seen


def test_items_that_were_not_seen_have_no_attention_and_no_place() -> None:
    judge = EyesJudge(TorchJudge(small_checkpoint("biatt-pointer")), cast(Eyes, Shortsighted(missed=1)))
    for example in EXAMPLES[:10]:
        verdict = judge(example.statement, example.scene)
        assert verdict.order is not None and verdict.attention is not None
        assert verdict.attention.words_to_items is not None and verdict.attention.items_to_words is not None
        for number, box in enumerate(example.scene.boxes):
            count, to_items = len(box.items), np.array(verdict.attention.words_to_items[number])
            low = max(range(count), key=lambda i: (box.items[i].y, -box.items[i].x)) if count > 1 else None
            assert sorted(verdict.order[number]) == [item for item in range(count) if item != low]
            assert to_items.shape[1] == count and np.allclose(to_items.sum(axis=1), 1, atol=1e-5)
            assert [item for item in range(count) if not to_items[:, item].any()] == ([] if low is None else [low])
            assert len(verdict.attention.items_to_words[number]) == count


def test_of_a_picture_alone_the_seen_scene_is_reported() -> None:
    judge = TorchJudge(small_checkpoint("biatt-pointer"))
    picture = pixels(EXAMPLES[0].scene)[..., :3]
    verdict = EyesJudge(judge, PERFECT)(EXAMPLES[0].statement, picture)
    assert verdict.seen == raster.decode(picture)
    expected = judge(EXAMPLES[0].statement, raster.decode(picture))
    assert verdict.order == expected.order and verdict.attention == expected.attention
    assert verdict.to_json(attention=True)["scene"] == WORLD.to_json_scene(raster.decode(picture))


class Blind(PerfectEyes):
    """Recognises nothing in a dark picture."""

    def scenes(self, pictures: Sequence[Pixels]) -> list[Scene]:
        if any(picture.max() < 200 for picture in pictures):
            raise InputError("no items were recognised", where="box 1")
        return super().scenes(pictures)


def test_a_picture_without_items_does_not_keep_the_others_from_being_judged() -> None:
    judge = EyesJudge(TorchJudge(small_checkpoint("biatt")), cast(Eyes, Blind()))
    pictures = [pixels(example.scene)[..., :3] for example in EXAMPLES[:3]]
    asked = [(EXAMPLES[0].statement, each) for each in (pictures[0], pictures[1] // 2, pictures[2])]
    good, bad, last = judge(asked)
    assert isinstance(bad, InputError)
    assert [good, last] == judge([asked[0], asked[2]])


def replace_boxes(scene: Scene, change: Callable[[Box], Box]) -> Scene:
    return Scene(tuple(map(change, scene.boxes)))  # type: ignore[arg-type]


def test_models_of_pixels_refuse_eyes() -> None:
    judge = TorchJudge(small_checkpoint("biatt"))
    judge.encoder = replace(judge.encoder, inputs=frozenset({Input.PIXELS}))
    with pytest.raises(InputError):
        EyesJudge(judge, PERFECT)


def test_a_name_that_ends_with_pixels_has_eyes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(veriscene.judge, "load_eyes", lambda **_: PERFECT)
    seeing, plain = veriscene.load("biatt-pointer-pixels"), veriscene.load("biatt-pointer")
    assert isinstance(seeing, EyesJudge) and isinstance(veriscene.load("best", eyes=True), EyesJudge)
    boxes = [random_box(random.Random(seed)) for seed in range(3)]
    scene = Scene((boxes[0], boxes[1], boxes[2]))
    statement = "There is a yellow circle."
    assert seeing(statement, scene).probability == pytest.approx(plain(statement, scene).probability, abs=1e-6)


def test_missing_eyes_are_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for module, name in ((vision, "SHIPPED"), (veriscene.judge, "EYES")):
        monkeypatch.setattr(module, name, tmp_path / "eyes.safetensors")
    with pytest.raises(InputError) as missing:
        veriscene.load("best-pixels")
    assert missing.value.where == tmp_path / "eyes.safetensors" and "pretrain eyes" in str(missing.value.allowed)
