"""Eyes: a small network that turns the picture of a scene into its items, also if the picture was scaled, shifted,
recompressed or is noisy.

It stands in front of any model that reads items. A picture of any size is resized to 400 x 100. The network sees each
box with a margin of 10 pixels, because only the walls tell by how much a picture was shifted: 120 x 120 pixels -> 12 x
12 cells -> the central 10 x 10, which are those of data/eyes.py. Trained by `veriscene pretrain eyes` on rendered
scenes only.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from veriscene.data.eyes import (
    ABSENT,
    BOX_EXTENT,
    BOX_PITCH,
    CHANNELS,
    HEADS,
    SHIPPED,
    PictureReader,
    Pixels,
)
from veriscene.errors import InputError, located
from veriscene.models.base import read_weights
from veriscene.models.vision.backbone import fill, save_weights

PRESENCE_WEIGHT = 10.0  # the other terms of the loss are means over items, of which a box has about 4 in 100 cells
STRIP = 128  # the grey between boxes
MARGIN = 10  # pixels of the picture around a box
SEEN = BOX_EXTENT + 2 * MARGIN
STEM, FINE, COARSE, BLOCKS = 16, 32, 64, 4  # channels at full, half and cell resolution; residual blocks


def loss(outputs: Tensor, classes: Tensor) -> Tensor:
    """Compares outputs (box, CHANNELS, GRID, GRID) with `targets`: presence in every cell, the rest where items are."""
    presence, *heads = torch.split(outputs.float(), [1, *HEADS], dim=1)
    classes = classes.long()
    present = (classes[:, :1] != ABSENT).float()
    total = PRESENCE_WEIGHT * F.binary_cross_entropy_with_logits(presence, present)
    for number, head in enumerate(heads):
        total = total + F.cross_entropy(head, classes[:, number], ignore_index=ABSENT)
    return total


def exact(outputs: Tensor, classes: Tensor) -> Tensor:
    """(box,): whether presence and every class are right. Stricter than `read`, which resolves overlaps."""
    presence, *heads = torch.split(outputs, [1, *HEADS], dim=1)
    present = classes[:, 0] != ABSENT
    right = torch.stack([head.argmax(1) for head in heads], dim=1) == classes
    right_cells: Tensor = ((presence[:, 0] > 0) == present) & (right.all(1) | ~present)
    return right_cells.flatten(1).all(1)


class Eyes(nn.Module, PictureReader):
    """Pictures -> what is where in each of their boxes.

    Batch normalisation follows every convolution in training. `folded`: it has become part of the convolutions, which
    is the form of weights files and the fast one.
    """

    def __init__(self, *, folded: bool = False) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            Convolution(3, STEM, kernel=4, stride=2, padding=1, folded=folded),
            nn.ReLU(inplace=True),
            Convolution(STEM, FINE, kernel=3, padding=1, folded=folded),
            nn.ReLU(inplace=True),
            Convolution(FINE, COARSE, kernel=5, stride=5, folded=folded),
            nn.ReLU(inplace=True),
        )
        self.blocks = nn.Sequential(*(Block(COARSE, folded=folded) for _ in range(BLOCKS)))
        self.heads = nn.Conv2d(COARSE, CHANNELS, 1)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, pictures: Tensor) -> Tensor:
        """(n, 100, 400, RGB) uint8 -> (3 n, CHANNELS, GRID, GRID), the boxes of a picture one after the other."""
        maps = self.blocks(self.stem(_windows(pictures)))
        heads: Tensor = self.heads(maps[:, :, 1:-1, 1:-1])
        return heads

    @torch.inference_mode()
    def see(self, pictures: Pixels) -> NDArray[np.float32]:
        outputs: Tensor = self.eval()(torch.from_numpy(pictures).to(next(self.parameters()).device))
        found: NDArray[np.float32] = outputs.float().cpu().numpy()
        return found

    @torch.no_grad()
    def folded(self) -> Eyes:
        """Returns the same function without batch normalisation: its statistics become weights of convolutions."""
        eyes = Eyes(folded=True).to(next(self.parameters()).device).eval()
        own = [module for module in self.modules() if isinstance(module, Convolution)]
        for ours, theirs in zip(own, (m for m in eyes.modules() if isinstance(m, Convolution)), strict=True):
            fused = ours.convolution
            if isinstance(ours.norm, nn.BatchNorm2d):
                fused = fuse_conv_bn_eval(fused, ours.norm)
            theirs.convolution.load_state_dict(fused.state_dict())
        eyes.heads.load_state_dict(self.heads.state_dict())
        return eyes

    def save(self, path: Path) -> None:
        """Writes the folded weights in half precision, atomically."""
        save_weights(self.folded(), path, metadata={"network": "eyes"})

    @classmethod
    def load(cls, path: Path | None = None, *, device: str = "cpu") -> Eyes:
        """Eyes that `save` wrote, by default those that ship with the package; InputError if they cannot be used."""
        path = path or SHIPPED
        if not path.is_file():
            raise InputError("the eyes are missing", where=path, allowed="`veriscene pretrain eyes` trains new ones")
        eyes = cls(folded=True)
        with located(path, unless_known=True):
            fill(eyes, read_weights(path))
        return eyes.to(device).eval()


class Convolution(nn.Module):
    """Is a convolution with its batch normalisation or, folded, one that does the work of both."""

    def __init__(
        self, inputs: int, outputs: int, *, kernel: int, stride: int = 1, padding: int = 0, folded: bool
    ) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=folded)
        self.norm: nn.Module = nn.Identity() if folded else nn.BatchNorm2d(outputs)

    def forward(self, maps: Tensor) -> Tensor:
        normed: Tensor = self.norm(self.convolution(maps))
        return normed


class Block(nn.Module):
    """Is a residual block. The mean over all cells enters it, since the walls say where every item of the box is."""

    def __init__(self, channels: int, *, folded: bool) -> None:
        super().__init__()
        self.first = Convolution(channels, channels, kernel=3, padding=1, folded=folded)
        self.context = Convolution(channels, channels, kernel=1, folded=folded)
        self.second = Convolution(channels, channels, kernel=3, padding=1, folded=folded)

    def forward(self, maps: Tensor) -> Tensor:
        context = self.context(maps.mean((2, 3), keepdim=True))
        sums: Tensor = self.second((self.first(maps) + context).relu_()) + maps
        return sums.relu_()


def _windows(pictures: Tensor) -> Tensor:
    """(n, 100, 400, RGB) uint8 -> (3 n, RGB, 120, 120) in -1..1: each box with its margin, grey outside the picture."""
    maps = pictures.permute(0, 3, 1, 2).float() / 127.5 - 1
    maps = F.pad(maps, (MARGIN, MARGIN, MARGIN, MARGIN), value=STRIP / 127.5 - 1)
    windows = maps.unfold(3, SEEN, BOX_PITCH).permute(0, 3, 1, 2, 4)  # (n, box, RGB, 120, 120)
    return windows.flatten(0, 1).contiguous(memory_format=torch.channels_last)
