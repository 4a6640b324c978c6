"""Models that see: a backbone turns each sub-image into a feature map of 10 x 10 cells."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from veriscene.config import choice, flag, number
from veriscene.data.batch import Batch, required
from veriscene.data.encoder import Input
from veriscene.models.base import Model, Order, Progress, Say, silent
from veriscene.models.vision.backbone import BACKBONES, PRETRAINED, check_weights_file, load_weights
from veriscene.models.vision.features import default_cache, extract
from veriscene.world.schema import World

SAMPLE = 32  # examples from which the statistics of feature maps are taken


@dataclass(frozen=True)
class SeeingConfig:
    """Settings of every model that sees; mixed into those of the model."""

    backbone: str = choice("convolutions", BACKBONES, "What makes feature maps of pictures.")
    end_to_end: bool = flag(False, "Whether a pretrained backbone is trained too; else it is frozen, as in the paper.")
    backbone_rate: float = number(0.1, 0.0, 10.0, "Learning rate of a pretrained backbone, relative to the rest.")
    # Units of the layer on the map's channels, and of convolutions on cells, add up thousands of
    # inputs, so that a step of Adam, which moves every weight by about the learning rate, takes them far.
    map_rate: float = number(0.1, 0.0001, 10.0, "Learning rate of the layer on the map's channels, relatively.")
    cell_rate: float = number(0.3, 0.0001, 10.0, "Learning rate of convolutions on cells, relatively.")


class SeeingModel(Model, ABC):
    """A frozen backbone is part of the weights, so that a checkpoint needs no other file."""

    inputs: ClassVar[frozenset[Input]] = frozenset({Input.PIXELS})
    order = Order.NONE

    mean: Tensor
    deviation: Tensor

    def __init__(
        self, *, world: World, backbone: str, end_to_end: bool, backbone_rate: float, map_rate: float, cell_rate: float
    ) -> None:
        super().__init__()
        self.world = world
        self.backbone_name, self.backbone_rate = backbone, backbone_rate
        self.map_rate, self.cell_rate = map_rate, cell_rate
        self.is_pretrained = backbone in PRETRAINED
        self.is_frozen = self.is_pretrained and not end_to_end
        self.backbone = BACKBONES[backbone]().requires_grad_(not self.is_frozen)
        self.register_buffer("mean", torch.zeros(()))
        self.register_buffer("deviation", torch.ones(()))

    def see(self, batch: Batch) -> Tensor:
        """The normalized feature maps, (batch, box, channel, row, column)."""
        if batch.features is not None:
            # Layers round their inputs to bf16 under autocast anyway; half precision is exact enough, and faster.
            half = torch.is_autocast_enabled(self.mean.device.type)
            maps = batch.features.flatten(0, 1).to(torch.half if half else self.mean.dtype)
        else:
            maps = self.backbone(required(batch.pixels).flatten(0, 1))
        return ((maps - self.mean) / self.deviation).view(len(batch), -1, *maps.shape[1:])

    def prepare(self, corpus: Batch) -> None:
        """Loads a pretrained backbone and takes the statistics of its maps.

        "The feature map is normalized to a mean of 0 and a standard deviation of 1" (appendix A.3.2): over all channels
        alike, so that those which say little stay small.
        """
        if not self.is_pretrained:
            return
        load_weights(self.backbone, self.backbone_name)
        numbers = torch.linspace(0, len(corpus) - 1, min(SAMPLE, len(corpus))).long()
        pixels = required(corpus.pixels)[numbers].flatten(0, 1)
        with torch.inference_mode():
            deviation, mean = torch.std_mean(self.backbone.eval()(pixels.to(self.mean.device)))
        self.mean.copy_(mean)
        self.deviation.copy_(deviation)
        self.train(self.training)

    def extract(self, corpus: Batch, *, store: bool = False, say: Say = silent, progress: Progress = silent) -> Batch:
        if not self.is_frozen:
            return corpus
        cache = default_cache() if store else None
        features = extract(self.backbone, required(corpus.pixels), cache=cache, say=say, progress=progress)
        return replace(corpus, pixels=None, features=features)

    def check_requirements(self) -> None:
        if self.is_pretrained:
            check_weights_file(self.backbone_name)

    def train(self, mode: bool = True) -> SeeingModel:
        """A frozen backbone keeps its running statistics."""
        super().train(mode)
        if self.is_frozen:
            self.backbone.eval()
        return self

    @abstractmethod
    def layers_on_maps(self) -> tuple[nn.Module, nn.Module | None]:
        """The layer that `map_rate` is about, and the one that `cell_rate` is about."""

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Layers on feature maps decay as fast as the others, whatever their rate."""
        on_maps, on_cells = ([] if layer is None else list(layer.parameters()) for layer in self.layers_on_maps())
        of_backbone = list(self.backbone.parameters())
        grouped = {*on_maps, *on_cells, *of_backbone}
        groups: list[dict[str, Any]] = [
            {"params": [parameter for parameter in self.parameters() if parameter not in grouped]},
            {"params": on_maps, "rate": self.map_rate, "decay": 1 / self.map_rate},
        ]
        if on_cells:
            groups.append({"params": on_cells, "rate": self.cell_rate, "decay": 1 / self.cell_rate})
        if not self.is_frozen:
            groups.append({"params": of_backbone, "rate": self.backbone_rate if self.is_pretrained else 1.0})
        return groups
