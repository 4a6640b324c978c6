"""Backbones of a few thousand weights, with batch norm statistics as after training, and pixels for them."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from veriscene.models.vision.backbone import Backbone, Convolutions, ResNetV1, ResNetV2

DEPTHS, WIDTH = (2, 1, 1, 2), 4

TINY: dict[str, Callable[[], Backbone]] = {
    "convolutions": Convolutions,
    "resnet_v1, stride 32": lambda: ResNetV1(size=320, stride=32, depths=DEPTHS, width=WIDTH),
    "resnet_v1, stride 16": lambda: ResNetV1(size=160, stride=16, depths=DEPTHS, width=WIDTH),
    "resnet_v2": lambda: ResNetV2(size=320, depths=DEPTHS, width=WIDTH),
}


def tiny(name: str) -> Backbone:
    torch.manual_seed(1)
    return randomize(TINY[name]()).eval()


def randomize(network: Backbone) -> Backbone:
    """Random gains, biases and statistics of batch norm, which a fresh network has at one and zero."""
    for module in network.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.0)
            nn.init.normal_(module.bias, std=0.1)
            nn.init.normal_(module.running_mean, std=0.1)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
    return network


def random_pixels(count: int, *, seed: int = 1) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(256, (count, 100, 100, 3), dtype=torch.uint8, generator=generator)
