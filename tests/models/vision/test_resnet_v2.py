"""ResNet-V2-101 is timm's, wherever timm is installed, and TF-slim's or Keras's with their weights."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from tiny import random_pixels, randomize
from torch import Tensor, nn
from torch.nn import functional
from torch.testing import assert_close

from veriscene.errors import InputError
from veriscene.models.vision import convert as converting
from veriscene.models.vision.backbone import BACKBONES, ResNetV2, load_weights
from veriscene.models.vision.convert import fill_from


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_maps_equal_those_of_timm_with_random_weights(device: str, tmp_path: Path) -> None:
    timm = pytest.importorskip("timm")
    torch.manual_seed(1)
    ours = ResNetV2(size=320)
    images = ours.prepare(random_pixels(2))
    theirs = randomize(timm.create_model("resnetv2_101", pretrained=False))
    for module in theirs.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = 1.0  # the statistics of this batch, without which values grow beyond 1e4 in 33 blocks
    theirs.train()(images)
    save_file(theirs.state_dict(), tmp_path / "model.safetensors")
    fill_from(tmp_path / "model.safetensors", ours, progress=lambda done, total: None)
    theirs, ours, images = (
        theirs.eval().to(device).double(),
        ours.eval().to(device).double(),
        images.to(device).double(),
    )
    with torch.inference_mode():
        expected = theirs.forward_features(images)
        assert expected.shape == (2, 2048, 10, 10) and expected.std() > 0.1
        assert_close(ours.encode(images), expected, atol=1e-4, rtol=0)


DEPTHS, WIDTH = (2, 1, 3, 2), 4
# Prefixes of a block's layers and of the network's: preact, 1, norm of 1, 2, norm of 2, 3, shortcut; stem, last norm.
LAYOUTS = {
    "slim": (
        "resnet_v2_101/block{stage}/unit_{unit}/bottleneck_v2/",
        ("preact", "conv1", "conv1/BatchNorm", "conv2", "conv2/BatchNorm", "conv3", "shortcut"),
        ("resnet_v2_101/conv1", "resnet_v2_101/postnorm"),
        ("weights", "biases"),
    ),
    "keras": (
        "conv{next}_block{unit}_",
        ("preact_bn", "1_conv", "1_bn", "2_conv", "2_bn", "3_conv", "0_conv"),
        ("conv1_conv", "post_bn"),
        ("kernel", "bias"),
    ),
}


class Published:
    """A small network as TensorFlow's sources describe it, drawing its variables as it is computed first."""

    def __init__(self, layout: str) -> None:
        self.layout, self.variables = layout, dict[str, Tensor]()
        self.unit, self.layers, (self.stem, self.last), (self.kernel, self.bias) = LAYOUTS[layout]

    def variable(self, name: str, *shape: int, positive: bool = False) -> Tensor:
        if name not in self.variables:
            drawn = torch.rand(shape) + 0.5 if positive else torch.randn(shape) * (0.3 if len(shape) > 1 else 0.1)
            self.variables[name] = drawn
        return self.variables[name].double()

    def norm(self, maps: Tensor, name: str) -> Tensor:
        gains = [self.variable(f"{name}/{each}", maps.size(1), positive=True) for each in ("gamma", "moving_variance")]
        beta, mean = (self.variable(f"{name}/{each}", maps.size(1)) for each in ("beta", "moving_mean"))
        gamma, variance = gains
        return functional.batch_norm(maps, mean, variance, gamma, beta, eps=1e-5).relu()

    def convolution(
        self, maps: Tensor, name: str, size: int, outputs: int, *, stride: int = 1, has_bias: bool = False
    ) -> Tensor:
        kernel = self.variable(f"{name}/{self.kernel}", size, size, maps.size(1), outputs)
        bias = self.variable(f"{name}/{self.bias}", outputs) if has_bias else None
        return functional.conv2d(maps, kernel.permute(3, 2, 0, 1), bias, stride=stride, padding=size // 2)

    def __call__(self, images: Tensor) -> Tensor:
        maps = self.convolution(images, self.stem, 7, WIDTH, stride=2, has_bias=True)
        padding, value = ((1, 1, 1, 1), 0.0) if self.layout == "keras" else ((0, 1, 0, 1), -torch.inf)
        maps = functional.max_pool2d(functional.pad(maps, padding, value=value), 3, stride=2)
        for stage, units in enumerate(DEPTHS, 1):
            for unit in range(1, units + 1):
                stride = 2 if unit == units and stage < len(DEPTHS) else 1
                base = self.unit.format(stage=stage, next=stage + 1, unit=unit)
                preact, one, norm1, two, norm2, three, shortcut = (base + layer for layer in self.layers)
                active, width = self.norm(maps, preact), WIDTH << (stage - 1)
                beside = functional.max_pool2d(maps, 1, stride=stride)
                if unit == 1:
                    beside = self.convolution(active, shortcut, 1, 4 * width, stride=stride, has_bias=True)
                hidden = self.norm(self.convolution(active, one, 1, width), norm1)
                hidden = self.norm(self.convolution(hidden, two, 3, width, stride=stride), norm2)
                maps = beside + self.convolution(hidden, three, 1, 4 * width, has_bias=True)
        return self.norm(maps, self.last)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_weights_of_tensorflow_load_with_the_stride_in_the_last_block_of_a_stage(
    layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VERISCENE_CACHE", str(tmp_path))
    name = f"resnetv2-101-{layout}"
    monkeypatch.setitem(BACKBONES, name, lambda: ResNetV2(size=299, depths=DEPTHS, width=WIDTH, layout=layout))
    torch.manual_seed(1)
    published, ours = Published(layout), BACKBONES[name]().eval()
    images = ours.prepare(random_pixels(2)).double()  # type: ignore[operator]
    expected = published(images)
    assert expected.shape == (2, 32 * WIDTH, 10, 10) and expected.std() > 0.1
    arrays = {f"{each}:0": tensor.numpy() for each, tensor in published.variables.items()}
    classifier = {"predictions/kernel": np.zeros((3, 5), "f4"), "resnet_v2_101/logits/biases": np.zeros(5, "f4")}
    np.savez(tmp_path / "weights.npz", **arrays, **classifier, global_step=np.int64(3))
    assert converting.convert(str(tmp_path / "weights.npz"), progress=lambda done, total: None).name == name
    fill_from(tmp_path / "weights.npz", ours, progress=lambda done, total: None)
    with torch.inference_mode():
        assert_close(ours.double().encode(images), expected)  # type: ignore[operator]
    load_weights(BACKBONES[name](), name)
    lost = next(iter(arrays))
    arrays.pop(lost)
    np.savez(tmp_path / "incomplete.npz", **arrays)
    with pytest.raises(InputError, match=re.escape(lost.removesuffix(":0"))):
        fill_from(tmp_path / "incomplete.npz", ours, progress=lambda done, total: None)
    good = (tmp_path / "incomplete.npz").read_bytes()
    for content in (b"no weights", good[: len(good) // 2], good[:300] + bytes(50) + good[350:]):
        (tmp_path / "damaged.npz").write_bytes(content)
        with pytest.raises(InputError, match=rf"^{tmp_path / 'damaged.npz'}: "):
            converting.convert(str(tmp_path / "damaged.npz"), progress=lambda done, total: None)
