"""The contract of every backbone: pixels of sub-images -> feature maps."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn

GRID = 10  # rows and columns of a feature map: a cell stands for 10 x 10 of a sub-image's 100 x 100 pixels


class Backbone(nn.Module, ABC):
    """Includes its own preprocessing. Weights and activations are in channels_last, the faster format on a GPU.

    `forward` may run under torch.autocast and be captured in a CUDA graph.
    """

    channels: int

    @abstractmethod
    def forward(self, pixels: Tensor) -> Tensor:
        """(n, 100, 100, RGB) uint8 -> (n, channels, GRID, GRID), float."""


def check_grid(size: int, stride: int) -> None:
    if size != GRID * stride:
        raise ValueError(f"an image of {size} pixels at stride {stride} does not give a {GRID} x {GRID} map")


def initialize(network: nn.Module) -> None:
    """He initialization of convolutions, for ReLU; biases zero."""
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
