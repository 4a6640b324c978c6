"""Questions about pictures: what a model of items and a model of pixels make of them."""

from __future__ import annotations

import base64
import random
import re
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from accelerate import Accelerator
from torch import nn

from samples import vocabulary_of
from small_models import EXAMPLES, STATEMENT, judge_of
from some_worlds import SHELF
from veriscene import models
from veriscene.config import Config, ModelConfig
from veriscene.data.batch import Batch, required
from veriscene.data.encoder import Input
from veriscene.data.vocabulary import Vocabulary
from veriscene.errors import InputError
from veriscene.judge.checkpoint import Checkpoint, TorchJudge
from veriscene.judge.evaluate import probabilities
from veriscene.judge.judge import Judge, Question, Verdict
from veriscene.models import Judgement, Model, Order
from veriscene.world.scene import Box, Scene
from veriscene.world.schema import World
from veriscene.worlds.nlvr.looks import WORLD
from veriscene.worlds.nlvr.pictures import each_picture, render_examples, to_png
from veriscene.worlds.nlvr.raster import pixels

PICTURES = [pixels(example.scene)[..., :3] for example in EXAMPLES]
SCENE, PICTURE = EXAMPLES[0].scene, PICTURES[0]


@dataclass(frozen=True)
class BrightnessConfig(ModelConfig):
    name: str = "brightness"


class Brightness(Model):
    """Its logits show what pixels it gets."""

    Config = BrightnessConfig
    summary = "the mean of all pixels"
    inputs = frozenset({Input.PIXELS})
    order = Order.NONE

    def __init__(self, config: ModelConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)
        self.bias = nn.Parameter(torch.tensor(-1.5))

    def forward(self, batch: Batch) -> Judgement:
        return Judgement(logits=required(batch.pixels).double().mean(dim=(1, 2, 3, 4)) / 100 + self.bias)


@pytest.fixture
def pixel_judge(monkeypatch: pytest.MonkeyPatch) -> Judge:
    monkeypatch.setitem(models.MODELS, "brightness", Brightness)
    config, vocabulary = Config(model=BrightnessConfig()), vocabulary_of(EXAMPLES)
    model = models.build(config.model, vocabulary=vocabulary, world=WORLD)
    return TorchJudge(Checkpoint(model, config, models.encoder(config, vocabulary, WORLD), {}))


@pytest.mark.parametrize("backend", ["torch", "onnx"])
def test_a_model_of_items_judges_a_picture_as_its_scene(backend: str) -> None:
    judge = judge_of(backend, "biatt-pointer")
    expected = [verdict.probability for verdict in judge([(e.statement, e.scene) for e in EXAMPLES])]
    asked = [Question(e.statement, picture=picture) for e, picture in zip(EXAMPLES, PICTURES, strict=True)]
    ways: list[list[Verdict]] = [
        judge(asked),
        judge([(question.statement, question.picture) for question in asked]),  # type: ignore[misc]
        [judge(question) for question in asked[:3]] + judge(asked[3:]),
    ]
    for verdicts in ways:
        assert [verdict.probability for verdict in verdicts] == pytest.approx(expected, abs=1e-5)
        counts = [[len(box.items) for box in example.scene.boxes] for example in EXAMPLES]
        assert [[len(order) for order in verdict.order or []] for verdict in verdicts] == counts


def test_what_pixels_draws_is_a_picture_to_judge_unless_it_is_transparent() -> None:
    picture = pixels(EXAMPLES[0].scene)
    question = Question(STATEMENT, picture=picture)
    assert question.picture is not None and (question.picture == picture[..., :3]).all()
    picture[5, 5, 3] = 254
    with pytest.raises(InputError) as caught:
        Question(STATEMENT, picture=picture)
    assert caught.value.where == "picture"


def test_scenes_of_another_world_are_refused() -> None:
    jar = SHELF.make(0, 0, width=10, height=10, kind="jar", color="red", price=3, offer="yes")
    red = WORLD.changed(next(iter(EXAMPLES[0].scene.items)), color="red")
    for item, where in ((jar, "scene"), (red, "scene: color")):
        scene = Scene((Box((item,)),) * 3)
        for refused in (
            lambda scene=scene: Question.of(STATEMENT, scene, WORLD),
            lambda scene=scene: Question.about(replace(EXAMPLES[0], scene=scene), WORLD),
            lambda scene=scene: pixels(scene),
        ):
            with pytest.raises(InputError) as error:
                refused()
            assert error.value.where == where


def test_a_model_of_pixels_judges_the_picture_itself(pixel_judge: Judge) -> None:
    darker = PICTURE // 2  # no rendered scene
    seen, rendered, dark = pixel_judge([(STATEMENT, PICTURE), (STATEMENT, SCENE), (STATEMENT, darker)])
    assert seen == rendered and dark.probability < seen.probability
    boxes = np.stack([darker[:, left : left + 100] for left in (0, 150, 300)])
    assert dark.probability == pytest.approx(torch.sigmoid(torch.tensor(boxes.mean() / 100 - 1.5)).item())


@pytest.mark.parametrize(
    ("picture", "where"),
    [(np.roll(PICTURE, 1, axis=0), r"picture, (box .|between boxes .*), pixel x=.*"), (PICTURE[:50, :200], "picture")],
)
def test_an_inexact_picture_is_one_line(picture: np.ndarray, where: str, pixel_judge: Judge) -> None:
    for judge in (judge_of("torch", "biatt"), pixel_judge):
        if judge is pixel_judge and picture.shape == PICTURE.shape:
            continue
        with pytest.raises(InputError) as refused:
            judge(STATEMENT, picture)
        assert re.fullmatch(where, str(refused.value.where)) and "--eyes" in str(refused.value.allowed)
        good, bad = judge([(STATEMENT, SCENE), (STATEMENT, picture)])
        assert isinstance(good, Verdict) and isinstance(bad, InputError)


def test_a_question_has_a_scene_or_a_picture() -> None:
    question = Question(STATEMENT, picture=PICTURE)
    assert question == Question(STATEMENT, picture=PICTURE.copy()) != Question(STATEMENT, picture=PICTURES[1])
    assert hash(question) == hash(Question(STATEMENT, picture=PICTURE.copy())) and question != Question(
        STATEMENT, SCENE
    )
    for wrong in (PICTURE.astype(float), PICTURE[..., 0], pixels(SCENE)[..., :2], "scene.png"):
        with pytest.raises(InputError):
            Question(STATEMENT, picture=wrong)  # type: ignore[arg-type]
    with pytest.raises(InputError):
        Question(STATEMENT, SCENE, PICTURE)


def test_a_record_may_hold_an_image() -> None:
    image = base64.b64encode(to_png(PICTURE)).decode()
    assert Question.from_json({"statement": STATEMENT, "image": image}, WORLD) == Question(STATEMENT, picture=PICTURE)
    for wrong in (3, None, "ä", "abc", "abcd", image[: len(image) // 8 * 4]):
        with pytest.raises(InputError) as refused:
            Question.from_json({"statement": STATEMENT, "image": wrong}, WORLD)
        assert str(refused.value.where).startswith("image")
    with pytest.raises(InputError):
        Question.from_json({"statement": STATEMENT, "image": image, "scene": WORLD.to_json_scene(SCENE)}, WORLD)


def test_each_picture_is_evaluated_and_all_wrong_ones_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples = [replace(example, directory=None) for example in EXAMPLES[:4]]
    images = tmp_path / "images"
    render_examples(WORLD, examples, images, split="dev", kind="png", count=6, progress=lambda done, total: None)
    pictured = each_picture(examples, images, Path("dev.json"))
    judge = judge_of("torch", "biatt")  # box scores are pooled by max, so the order of the boxes is irrelevant
    judged = probabilities(judge, pictured, Accelerator())
    assert len(judged) == 24
    for example in examples:
        expected = judge(example.statement, example.scene).probability
        for number in range(6):
            assert judged[f"{example.identifier}-{number}"] == pytest.approx(expected, abs=1e-5)
    wrong = [each.picture for each in random.Random(0).sample(pictured, 2)]
    for path, content in zip(wrong, (to_png(np.roll(PICTURE, 1, axis=0)), b"no picture"), strict=True):
        assert isinstance(path, Path)
        path.write_bytes(content)
    monkeypatch.setattr(type(judge), "_judge", None)  # nothing is judged
    with pytest.raises(InputError) as caught:
        probabilities(judge, pictured, Accelerator())
    assert all(str(path) in str(caught.value.where) for path in wrong)
