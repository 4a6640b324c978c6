"""Pretraining on rendered scenes."""

from __future__ import annotations

import itertools
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from veriscene.data import eyes as cells
from veriscene.errors import InputError
from veriscene.lab import pretrain as rendered
from veriscene.lab.pretrain import (
    RENDERED_BACKBONE,
    Outcome,
    Pretrainer,
    Rendered,
    Settings,
    TargetBackbone,
    Task,
    eyes_task,
    make_task,
    random_scenes,
)
from veriscene.models.vision.backbone import BACKBONES, Backbone, save_weights
from veriscene.models.vision.eyes import Eyes
from veriscene.world.scene import Scene
from veriscene.worlds.nlvr.looks import WORLD

CPU = torch.device("cpu")


class TinyBackbone(Backbone):
    channels = 24

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, self.channels, 10, 10)
        self.norm = nn.BatchNorm2d(self.channels)

    def forward(self, pixels: Tensor) -> Tensor:
        maps: Tensor = self.norm(self.patches(pixels.permute(0, 3, 1, 2) / 255.0)).relu()
        return maps


def tiny_task() -> Task:
    torch.manual_seed(0)
    backbone = TinyBackbone()

    def save(path: Path) -> None:
        save_weights(backbone, path, metadata={})

    draw = rendered.clean_boxes
    network = TargetBackbone(backbone)
    return Task(16, 3e-2, network, draw, save, {"clean": draw}, network.loss, network.exact)


def pretrainer(
    task: Task, out: Path, say: Callable[[str], None] = print, resume: bool = False, **settings: float
) -> Pretrainer:
    chosen = replace(Settings(scenes=16, held_out=4), **settings)  # type: ignore[arg-type]
    return Pretrainer(task, out, chosen, device=CPU, say=say, resume=resume)


def test_random_scenes_are_valid_and_some_boxes_are_full() -> None:
    scenes = random_scenes(np.random.default_rng(0), 200)
    assert all(WORLD.parse(WORLD.to_json_scene(scene)) == scene for scene in scenes)
    counts = {len(box.items) for scene in scenes for box in scene.boxes}
    assert counts == set(range(1, 9))
    assert 0.2 < sum(all(map(WORLD.is_tower, scene.boxes)) for scene in scenes) / len(scenes) < 0.4


def test_a_batch_follows_from_the_seed_and_holds_what_is_drawn() -> None:
    seen: list[Scene] = []

    def draw(scene: Scene, rng: np.random.Generator) -> np.ndarray:
        seen.append(scene)
        return rendered.clean_picture(scene, rng)

    pixels, classes = next(iter(Rendered(draw, 5, seed=1)))
    again, _ = next(iter(Rendered(draw, 5, seed=1)))
    other, _ = next(iter(Rendered(draw, 5, seed=2)))
    assert torch.equal(pixels, again) and not torch.equal(pixels, other)
    assert pixels.shape == (5, 100, 400, 3) and pixels.dtype == torch.uint8
    assert np.array_equal(classes, cells.targets([box for scene in seen[:5] for box in scene.boxes]))


def test_workers_draw_different_scenes() -> None:
    stream = iter(rendered.loader(Rendered(rendered.distorted_picture, 2, seed=0), workers=2))
    (first, _), (second, _) = next(stream), next(stream)
    assert not torch.equal(first, second)


def test_the_loss_falls_and_the_weights_of_the_backbone_alone_are_written(tmp_path: Path) -> None:
    task, lines = tiny_task(), list[str]()
    out = tmp_path / "new" / "backbone.safetensors"
    trainer = pretrainer(task, out, lines.append, steps=160)
    batch = rendered.sample(task.draw, 16, np.random.default_rng(5))
    before = task.loss(task.network(batch[0]), batch[1]).item()
    outcome = trainer.run()
    after = task.loss(task.network(batch[0]), batch[1]).item()
    assert after < 0.85 * before
    assert outcome.steps == 160 and not outcome.interrupted
    assert "step    160" in lines[-1] and "exact boxes: clean" in lines[-1]
    assert [path.name for path in out.parent.iterdir()] == ["backbone.safetensors"]
    from safetensors.torch import load_file

    assert load_file(out).keys() == TinyBackbone().state_dict().keys()


def test_eyes_are_trained_and_written_with_averaged_weights(tmp_path: Path) -> None:
    torch.manual_seed(0)
    task = eyes_task()
    trainer = pretrainer(task, tmp_path / "eyes.safetensors", steps=3, scenes=2)
    trainer.run()
    written = Eyes.load(tmp_path / "eyes.safetensors")
    assert isinstance(task.network, Eyes)
    last = task.network.eval().folded()
    with trainer.ema.applied():
        averaged = task.network.eval().folded()
    weights = [eyes.stem[0].convolution.weight for eyes in (written, averaged, last)]
    torch.testing.assert_close(weights[0], weights[1], rtol=1e-3, atol=1e-4)
    assert not torch.allclose(weights[1], weights[2], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("steps", [0, 2])
def test_ctrl_c_ends_early_and_keeps_what_was_trained(tmp_path: Path, steps: int) -> None:
    numbers, out = itertools.count(), tmp_path / "weights.safetensors"

    def draw(scene: Scene, rng: np.random.Generator) -> np.ndarray:
        if next(numbers) == 16 * steps:
            signal.raise_signal(signal.SIGINT)
        return rendered.clean_boxes(scene, rng)

    outcome = pretrainer(replace(tiny_task(), draw=draw), out, steps=1000).run()
    assert outcome.interrupted and outcome.steps == steps
    assert out.is_file() == (steps > 0)


def test_an_interrupted_training_ends_with_the_same_weights(tmp_path: Path) -> None:
    whole, parts = tmp_path / "whole.safetensors", tmp_path / "parts.safetensors"
    assert pretrainer(tiny_task(), whole, steps=5).run() == Outcome(5, interrupted=False)

    numbers = itertools.count()

    def draw(scene: Scene, rng: np.random.Generator) -> np.ndarray:
        if next(numbers) == 16 * 3:
            signal.raise_signal(signal.SIGTERM)
        return rendered.clean_boxes(scene, rng)

    assert pretrainer(replace(tiny_task(), draw=draw), parts, steps=5).run() == Outcome(3, interrupted=True)
    with pytest.raises(InputError):
        pretrainer(tiny_task(), parts, steps=6, resume=True)
    assert pretrainer(tiny_task(), parts, steps=5, resume=True, workers=2).run() == Outcome(5, interrupted=False)
    one, other = load_file(whole), load_file(parts)
    assert one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)
    assert sorted(tmp_path.iterdir()) == [parts, whole]
    with pytest.raises(InputError):
        pretrainer(tiny_task(), parts, steps=5, resume=True)


def test_a_damaged_state_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "weights.state.pt").write_bytes(b"no archive")
    with pytest.raises(InputError) as refused:
        pretrainer(tiny_task(), tmp_path / "weights.safetensors", resume=True)
    assert refused.value.where == tmp_path / "weights.state.pt"


def test_unknown_networks_are_refused() -> None:
    with pytest.raises(InputError):
        make_task("nothing")


def test_a_backbone_is_trained_further(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BACKBONES, RENDERED_BACKBONE, TinyBackbone)
    weights = TinyBackbone()
    file = tmp_path / "weights.safetensors"
    save_weights(weights, file, metadata={})
    network = make_task(RENDERED_BACKBONE, file).network
    assert isinstance(network, TargetBackbone)
    torch.testing.assert_close(network.backbone.state_dict(), weights.state_dict(), rtol=1e-3, atol=1e-4)
    monkeypatch.setattr(TinyBackbone, "channels", 12)
    with pytest.raises(InputError) as error:
        make_task(RENDERED_BACKBONE, file)
    assert error.value.where == str(file)
    with pytest.raises(InputError):
        make_task("eyes", file)
