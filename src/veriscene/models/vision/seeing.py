"""Models that see: a backbone turns each sub-image into a feature map of 10 x 10 cells."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from torch import Tensor, nn

from veriscene.config import choice, number
from veriscene.models.base import Model, Order, Progress, Say, silent
from veriscene.models.vision.backbone import BACKBONES, PRETRAINED, check_weights_file, load_weights
from veriscene.models.vision.features import default_cache, extract
from veriscene.tensors.batch import Batch, required
from veriscene.tensors.encoder import Input


@dataclass(frozen=True)
class SeeingConfig:
    """Settings of every model that sees; mixed into those of the model."""

    backbone: str = choice("convolutions", BACKBONES)
    end_to_end: bool = False  # whether a pretrained backbone is trained too; else it is frozen, as in the paper
    backbone_rate: float = number(0.1, 0.0, 10.0)  # learning rate of a pretrained backbone, relative to the rest


class SeeingModel(Model, ABC):
    """A frozen backbone is part of the weights, so that a checkpoint needs no other file."""

    inputs: ClassVar[frozenset[Input]] = frozenset({Input.PIXELS})
    order = Order.NONE

    def __init__(self, *, backbone: str, end_to_end: bool, backbone_rate: float) -> None:
        super().__init__()
        self.backbone_name, self.backbone_rate = backbone, backbone_rate
        self.is_pretrained = backbone in PRETRAINED
        self.is_frozen = self.is_pretrained and not end_to_end
        self.backbone = BACKBONES[backbone]().requires_grad_(not self.is_frozen)
        # "The feature map is normalized to a mean of 0 and a standard deviation of 1" (appendix A.3.2): per channel.
        self.normalize = nn.BatchNorm2d(self.backbone.channels, affine=False)

    def see(self, batch: Batch) -> Tensor:
        """The normalized feature maps, (batch, box, channel, row, column)."""
        if batch.features is not None:
            maps = batch.features.flatten(0, 1).to(required(self.normalize.running_mean).dtype)
        else:
            maps = self.backbone(required(batch.pixels).flatten(0, 1))
        normalized: Tensor = self.normalize(maps)
        return normalized.view(len(batch), -1, *normalized.shape[1:])

    def prepare(self, corpus: Batch) -> None:
        if self.is_pretrained:
            load_weights(self.backbone, self.backbone_name)

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

    def parameter_groups(self) -> list[dict[str, Any]]:
        of_backbone = set(self.backbone.parameters())
        own = [parameter for parameter in self.parameters() if parameter not in of_backbone]
        if self.is_frozen:
            return [{"params": own}]
        rate = self.backbone_rate if self.is_pretrained else 1.0
        return [{"params": own}, {"params": list(self.backbone.parameters()), "rate": rate}]
