"""Models that see: a backbone turns each sub-image into a feature map of 10 x 10 cells. A stand-in."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from veriscene.config import choice, number
from veriscene.models.base import Model, Order
from veriscene.tensors.batch import Batch, required
from veriscene.tensors.encoder import Input

GRID = 10


class Convolutions(nn.Module):
    channels = 32

    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, self.channels, 10, stride=10)

    def forward(self, pixels: Tensor) -> Tensor:
        maps: Tensor = self.convolution(pixels.permute(0, 3, 1, 2).to(self.convolution.weight.dtype) / 127.5 - 1).relu()
        return maps


BACKBONES = {"convolutions": Convolutions, "resnet50-rendered": Convolutions}


@dataclass(frozen=True)
class SeeingConfig:
    """Settings of every model that sees; mixed into those of the model."""

    backbone: str = choice("convolutions", BACKBONES)
    end_to_end: bool = False
    backbone_rate: float = number(0.1, 0.0, 10.0)


class SeeingModel(Model, ABC):
    inputs: ClassVar[frozenset[Input]] = frozenset({Input.PIXELS})
    order = Order.NONE

    def __init__(self, *, backbone: str, end_to_end: bool, backbone_rate: float) -> None:
        super().__init__()
        self.backbone = BACKBONES[backbone]()
        self.normalize = nn.BatchNorm2d(self.backbone.channels, affine=False)

    def see(self, batch: Batch) -> Tensor:
        """The normalized feature maps, (batch, box, channel, row, column)."""
        if batch.features is not None:
            maps = batch.features.flatten(0, 1).to(required(self.normalize.running_mean).dtype)
        else:
            maps = self.backbone(required(batch.pixels).flatten(0, 1))
        normalized: Tensor = self.normalize(maps)
        return normalized.view(len(batch), -1, *normalized.shape[1:])
