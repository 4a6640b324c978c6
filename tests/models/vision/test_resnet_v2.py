"""ResNet-V2-101 is timm's, wherever timm is installed."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from tiny import random_pixels, randomize
from torch import nn
from torch.testing import assert_close

from veriscene.models.vision.convert import fill_from
from veriscene.models.vision.networks import ResNetV2


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
