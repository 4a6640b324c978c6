"""What is where in a box, as a dense prediction: one possible item for each of 10 x 10 cells.

An item's centre is a whole pixel, items do not overlap and are at least 10 pixels wide, so two centres differ by at
least 10 in x or in y: a cell of 10 x 10 pixels holds at most one. The items of a box are a set, and predicting a set
usually needs a matching of predictions and items; here the cell of its centre tells which prediction an item belongs
to. Per cell: presence, the value of each attribute, and the centre's offsets in the cell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from veriscene import worlds
from veriscene.errors import InputError
from veriscene.models.vision.backbone import fill, read_weights, save_weights
from veriscene.world.drawing import arrange
from veriscene.world.scene import Box, Item, Number, Scene

WORLD = worlds.get()  # eyes see the default world
CELL = 10  # pixels
GRID = WORLD.canvas[0] // CELL
ABSENT = -1  # the class of every head where a cell holds no centre
# Categorical attributes come before ordered ones, each in the order of the world.
ATTRIBUTES = sorted(WORLD.attributes, key=lambda attribute: attribute.kind)
HEADS = (*(len(attribute.choices) for attribute in ATTRIBUTES), CELL, CELL)  # classes; the last two are x and y offset
CHANNELS = 1 + sum(HEADS)  # presence comes first

# Low, because an item between two cells may be half present in both; the weaker one is dropped as an overlap.
PRESENT = math.log(0.25 / 0.75)  # logit
PRESENCE_WEIGHT = 10.0  # the other terms of the loss are means over items, of which a box has about 4 in 100 cells
NUDGE = 2  # pixels by which an item that overlaps another may be moved
NUDGES = sorted(product(range(-NUDGE, NUDGE + 1), repeat=2), key=lambda move: move[0] ** 2 + move[1] ** 2)


# ---------------------------------------------------------------- training


def targets(boxes: Sequence[Box]) -> NDArray[np.int8]:
    """(box, head, row, column): the class of each head in the cell of an item's centre, ABSENT elsewhere."""
    classes = np.full((len(boxes), len(HEADS), GRID, GRID), ABSENT, np.int8)
    for cells, box in zip(classes, boxes, strict=True):
        for item in box.items:
            x, y = int(item.x + item.width // 2), int(item.y + item.height // 2)
            looks = (attribute.rank[item[attribute.name]] for attribute in ATTRIBUTES)
            cells[:, y // CELL, x // CELL] = (*looks, x % CELL, y % CELL)
    return classes


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


# ---------------------------------------------------------------- reading


def read(outputs: Tensor) -> list[Box]:
    """Reads boxes from outputs (box, CHANNELS, GRID, GRID). They have no more items than the world allows, inside the
    box, without overlap; maybe none.

    The most confident items come first. One that overlaps those before it moves by up to two pixels, or is dropped:
    items are often one pixel apart, and an error of one pixel must not cost an item.
    """
    values = outputs.detach().float().movedim(1, -1).cpu().numpy()  # (box, row, column, channel)
    is_present = values[..., 0] > PRESENT
    candidates = values[is_present]
    heads = np.split(candidates[:, 1:], np.cumsum(HEADS)[:-1], axis=1)
    classes = np.stack([head.argmax(1) for head in heads], axis=1)
    boxes, rows, columns = is_present.nonzero()
    kept: list[list[Item]] = [[] for _ in outputs]
    for number in np.argsort(-candidates[:, 0], kind="stable").tolist():
        others = kept[boxes[number]]
        if len(others) < WORLD.items[1]:
            item = _free(_item(int(rows[number]), int(columns[number]), classes[number].tolist()), others)
            others += [] if item is None else [item]
    return [Box(tuple(sorted(items, key=lambda item: (item.y, item.x)))) for items in kept]


def _item(row: int, column: int, classes: Sequence[int]) -> Item:
    *looks, right, down = classes
    pairs = zip(ATTRIBUTES, looks, strict=True)
    values: dict[str, Any] = {attribute.name: attribute.choices[look].name for attribute, look in pairs}
    item = WORLD.make(0, 0, **values)
    x, y = CELL * column + right - item.width // 2, CELL * row + down - item.height // 2
    return _at(item, x, y)


def _free(item: Item, others: Sequence[Item]) -> Item | None:
    """The item at the nearest place, at most NUDGE pixels away in x and y, where it overlaps none of the others."""
    gap = min((item.distance(other) for other in others), default=0)
    if gap >= 0:
        return item
    for right, down in NUDGES if gap >= -NUDGE else ():
        moved = _at(item, item.x + right, item.y + down)
        if all(moved.distance(other) >= 0 for other in others):
            return moved
    return None


def _at(item: Item, x: Number, y: Number) -> Item:
    """The item there, or at the nearest place inside the box."""
    width, height = WORLD.canvas
    return replace(item, x=min(max(x, 0), width - item.width), y=min(max(y, 0), height - item.height))


# ---------------------------------------------------------------- eyes

# Eyes: a small network that turns the picture of a scene into its items, also if the picture was scaled, shifted,
# recompressed or is noisy. It stands in front of any model that reads items. A picture of any size is resized to 400
# x 100. The network sees each box with a margin of 10 pixels, because only the walls tell by how much a picture was
# shifted: 120 x 120 pixels -> 12 x 12 cells -> the central 10 x 10, which are those of `cells`. Trained by `veriscene
# pretrain eyes` on rendered scenes only.

SHIPPED = Path(str(resources.files("veriscene"))) / "checkpoints" / "eyes.safetensors"
Pixels = NDArray[np.uint8]
BOXES, BOX_EXTENT = WORLD.boxes[1], WORLD.canvas[0]
PLACE = arrange(WORLD, BOXES)
WIDTH, BOX_PITCH = PLACE.width, int(PLACE.corners[1][0])  # from one box's left edge to the next one's
STRIP = 128  # the grey between boxes
MARGIN = 10  # pixels of the picture around a box
SEEN = BOX_EXTENT + 2 * MARGIN
STEM, FINE, COARSE, BLOCKS = 16, 32, 64, 4  # channels at full, half and cell resolution; residual blocks
BATCH = 64  # pictures read at once
MAX_LEVELS, MAX_UNLIKE = 100, 0.2  # the share of pixels that may differ from the recognised scene's by more levels


class Eyes(nn.Module):
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
    def boxes(self, pictures: Sequence[Pixels]) -> list[Box]:
        """Reads the boxes of pictures of any size, (height, width, RGB or RGBA) uint8: three each, maybe empty."""
        device, found = next(self.parameters()).device, []
        for start in range(0, len(pictures), BATCH):
            some = np.stack([resized(picture) for picture in pictures[start : start + BATCH]])
            found += read(self.eval()(torch.from_numpy(some).to(device)))
        return found

    def scenes(self, pictures: Sequence[Pixels]) -> list[Scene]:
        """Reads the scenes of pictures of any size; InputError if nothing is recognised in a box."""
        boxes = self.boxes(pictures)
        for number, box in enumerate(boxes):
            if not box.items:
                raise InputError("no items were recognised", where=f"box {number % BOXES + 1}")
        scenes = [Scene(tuple(boxes[start : start + BOXES])) for start in range(0, len(boxes), BOXES)]
        for picture, scene in zip(pictures, scenes, strict=True):
            # Whatever is shown to it, the network finds the likeliest items: in a black picture, black squares.
            drawn = worlds.require(WORLD, "pixels", "pictures")(scene)[..., :3].astype(int)
            if (abs(drawn - resized(picture)).max(-1) > MAX_LEVELS).mean() > MAX_UNLIKE:
                allowed = "it must be a picture of a scene"
                raise InputError("the picture does not show the recognised items", allowed=allowed)
        return scenes

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
        try:
            fill(eyes, read_weights(path))
        except InputError as error:
            raise error if error.where else error.at(path) from None
        return eyes.to(device).eval()


class Convolution(nn.Module):
    """A convolution and its batch normalisation, or, folded, one that does the work of both."""

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
    """A residual block. The mean over all cells enters it, since the walls say where every item of the box is."""

    def __init__(self, channels: int, *, folded: bool) -> None:
        super().__init__()
        self.first = Convolution(channels, channels, kernel=3, padding=1, folded=folded)
        self.context = Convolution(channels, channels, kernel=1, folded=folded)
        self.second = Convolution(channels, channels, kernel=3, padding=1, folded=folded)

    def forward(self, maps: Tensor) -> Tensor:
        context = self.context(maps.mean((2, 3), keepdim=True))
        sums: Tensor = self.second((self.first(maps) + context).relu_()) + maps
        return sums.relu_()


def resized(picture: Pixels) -> Pixels:
    """Brings a picture of any size, RGB or RGBA, to the size of the corpus's pictures: (100, 400, RGB).

    Large pictures are first averaged over whole squares of pixels, which is fast.
    """
    rgb = np.ascontiguousarray(picture[..., :3])
    if rgb.shape[:2] == (BOX_EXTENT, WIDTH):
        return rgb
    return np.array(Image.fromarray(rgb).resize((WIDTH, BOX_EXTENT), Image.Resampling.BILINEAR, reducing_gap=1.0))


def _windows(pictures: Tensor) -> Tensor:
    """(n, 100, 400, RGB) uint8 -> (3 n, RGB, 120, 120) in -1..1: each box with its margin, grey outside the picture."""
    maps = pictures.permute(0, 3, 1, 2).float() / 127.5 - 1
    maps = F.pad(maps, (MARGIN, MARGIN, MARGIN, MARGIN), value=STRIP / 127.5 - 1)
    windows = maps.unfold(3, SEEN, BOX_PITCH).permute(0, 3, 1, 2, 4)  # (n, box, RGB, 120, 120)
    return windows.flatten(0, 1).contiguous(memory_format=torch.channels_last)
