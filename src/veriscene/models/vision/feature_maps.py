"""Models that read pictures through a backbone, which turns each sub-image into a feature map of 10 x 10 cells."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from veriscene import files
from veriscene.config import ModelConfig, choice, flag, number
from veriscene.data.batch import Batch, required
from veriscene.data.encoder import Input
from veriscene.data.vocabulary import Vocabulary
from veriscene.models.base import Model, Order
from veriscene.models.vision.backbone import BACKBONES, PRETRAINED, check_weights_file, load_weights
from veriscene.models.vision.features import extract
from veriscene.output import Output
from veriscene.world.schema import World

NORMALIZATION = "Whether maps of a pretrained backbone have one mean and deviation, or one for each channel."
SMALLEST = 1e-3  # deviation: channels that never respond stay small
SAMPLE = 32  # examples from which the statistics of feature maps are taken


@dataclass(frozen=True)
class FeatureMapConfig(ModelConfig):
    """The settings that all these models share."""

    backbone: str = choice("convolutions", BACKBONES, "What makes feature maps of pictures.")
    end_to_end: bool = flag(False, "Whether a pretrained backbone is trained too; else it is frozen, as in the paper.")
    normalization: str = choice("map", ("map", "channel"), NORMALIZATION)
    backbone_rate: float = number(0.1, 0.0, 10.0, "Learning rate of a pretrained backbone, relative to the rest.")
    # Units of the layer on the map's channels, and of convolutions on cells, add up thousands of
    # inputs, so that a step of Adam, which moves every weight by about the learning rate, takes them far.
    map_rate: float = number(0.1, 0.0001, 10.0, "Learning rate of the layer on the map's channels, relatively.")
    cell_rate: float = number(0.3, 0.0001, 10.0, "Learning rate of convolutions on cells, relatively.")


class FeatureMapModel(Model, ABC):
    """A frozen backbone is part of the weights, so that a checkpoint needs no other file."""

    inputs: ClassVar[frozenset[Input]] = frozenset({Input.PIXELS})
    order = Order.NONE

    config: FeatureMapConfig
    mean: Tensor
    deviation: Tensor

    def __init__(self, config: FeatureMapConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)
        self.is_pretrained = config.backbone in PRETRAINED
        self.is_frozen = self.is_pretrained and not config.end_to_end
        self.backbone = BACKBONES[config.backbone]().requires_grad_(not self.is_frozen)
        shape = (self.backbone.channels, 1, 1) if config.normalization == "channel" else ()
        self.register_buffer("mean", torch.zeros(shape))
        self.register_buffer("deviation", torch.ones(shape))

    def cells(self, batch: Batch) -> Tensor:
        """Returns the normalized feature maps, cells row by row: (batch, box, cell, channel)."""
        if batch.features is not None:
            # Layers round their inputs to bf16 under autocast anyway; half precision is exact enough, and faster.
            half = torch.is_autocast_enabled(self.mean.device.type)
            maps = batch.features.flatten(0, 1).to(torch.half if half else self.mean.dtype)
        else:
            maps = self.backbone(required(batch.pixels).flatten(0, 1))
        normalized = ((maps - self.mean) / self.deviation).view(len(batch), -1, *maps.shape[1:])
        return normalized.flatten(3).transpose(2, 3)

    def prepare(self, corpus: Batch) -> None:
        """Loads a pretrained backbone and takes the statistics of its maps.

        "The feature map is normalized to a mean of 0 and a standard deviation of 1" (appendix A.3.2): over all channels
        alike, so that those which say little stay small.
        """
        if not self.is_pretrained:
            return
        load_weights(self.backbone, self.config.backbone)
        numbers = torch.linspace(0, len(corpus) - 1, min(SAMPLE, len(corpus))).long()
        pixels = required(corpus.pixels)[numbers].flatten(0, 1)
        with torch.inference_mode():
            maps = self.backbone.eval()(pixels.to(self.mean.device))
            deviation, mean = torch.std_mean(maps, dim=(0, 2, 3) if self.mean.dim() else None)
        self.mean.copy_(mean.view_as(self.mean))
        self.deviation.copy_(deviation.view_as(self.deviation).clamp(min=SMALLEST))
        self.train(self.training)

    def extract(self, corpus: Batch, *, store: bool = False, output: Output | None = None) -> Batch:
        if not self.is_frozen:
            return corpus
        output, cache = output or Output(), files.cache_folder() / "features" if store else None
        pixels = required(corpus.pixels)
        features = extract(self.backbone, pixels, cache=cache, say=output.say, progress=output.progress)
        return replace(corpus, pixels=None, features=features)

    def check_requirements(self) -> None:
        check_weights_file(self.config.backbone)

    def train(self, mode: bool = True) -> FeatureMapModel:
        """Leaves a frozen backbone in evaluation mode, so that it keeps its running statistics."""
        super().train(mode)
        if self.is_frozen:
            self.backbone.eval()
        return self

    @abstractmethod
    def layers_on_maps(self) -> tuple[nn.Module, nn.Module | None]:
        """Returns the layer that `map_rate` is about, and the one that `cell_rate` is about."""

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Layers on feature maps decay as fast as the others, whatever their rate."""
        config = self.config
        on_maps, on_cells = ([] if layer is None else list(layer.parameters()) for layer in self.layers_on_maps())
        of_backbone = list(self.backbone.parameters())
        grouped = {*on_maps, *on_cells, *of_backbone}
        groups: list[dict[str, Any]] = [
            {"params": [parameter for parameter in self.parameters() if parameter not in grouped]},
            {"params": on_maps, "rate": config.map_rate, "decay": 1 / config.map_rate},
        ]
        if on_cells:
            groups.append({"params": on_cells, "rate": config.cell_rate, "decay": 1 / config.cell_rate})
        if not self.is_frozen:
            groups.append({"params": of_backbone, "rate": config.backbone_rate if self.is_pretrained else 1.0})
        return groups
