"""A small convolutional network without pretrained weights, for models that are trained from scratch."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from veriscene.models.vision.base import Backbone, initialize

WHITE = 255.0


class Convolutions(Backbone):
    """100 x 100 pixels at their own scale -> 10 x 10 x 128 in four batch-normed convolutions, 0.5 million weights."""

    channels = 128

    def __init__(self) -> None:
        super().__init__()
        width = self.channels
        self.layers = nn.Sequential(
            *_layer(3, width // 2, kernel=5, stride=2, padding=2),  # 50 x 50
            *_layer(width // 2, width, kernel=5, stride=5, padding=0),  # 10 x 10
            *_layer(width, width, kernel=3, stride=1, padding=1),
            *_layer(width, width, kernel=3, stride=1, padding=1),
        )
        initialize(self)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, pixels: Tensor) -> Tensor:
        images = pixels.permute(0, 3, 1, 2).to(next(self.parameters()).dtype) / (WHITE / 2) - 1
        maps: Tensor = self.layers(images)
        return maps


def _layer(inputs: int, outputs: int, *, kernel: int, stride: int, padding: int) -> tuple[nn.Module, ...]:
    convolution = nn.Conv2d(inputs, outputs, kernel, stride=stride, padding=padding, bias=False)
    return convolution, nn.BatchNorm2d(outputs), nn.ReLU()
