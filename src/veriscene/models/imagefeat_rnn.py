"""ImageFeat+RNN (Suhr et al. 2017): an LSTM reads the statement; the scene is one flat vector, slot by slot."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from veriscene.config import ModelConfig, size
from veriscene.data.batch import Batch, required
from veriscene.data.items import Attributes, Items
from veriscene.data.vocabulary import PADDING, Vocabulary
from veriscene.models.base import Judgement, Model
from veriscene.models.layers.pooling import Scorer
from veriscene.models.layers.recurrence import xavier_
from veriscene.world.scene import Side
from veriscene.world.schema import World

_RELATIONS = 4


@dataclass(frozen=True)
class ImageFeatRNNConfig(ModelConfig):
    name: str = "imagefeat-rnn"
    embedding: int = size(32)
    hidden: int = size(32)
    mlp: int = size(32)


class ImageFeatRNN(Model):
    Config = ImageFeatRNNConfig
    summary = "ImageFeat+RNN: an LSTM over the words, the scene as one flat vector"

    def __init__(self, config: ImageFeatRNNConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)
        self.embed_words = nn.Embedding(len(vocabulary), config.embedding, padding_idx=PADDING)
        self.lang_lstm = nn.LSTM(config.embedding, config.hidden, batch_first=True)
        self.scorer = Scorer(config.hidden + image_feature_count(world), config.mlp, dropout=0.0)
        xavier_(self)

    def forward(self, batch: Batch) -> Judgement:
        statement, items = batch.statement, required(batch.items)
        outputs, _ = self.lang_lstm(self.embed_words(statement.words))
        # Padding comes after the words, which a forward LSTM reads first, so only the mean must exclude it.
        mean = outputs.masked_fill(~statement.mask[..., None], 0).sum(dim=1) / statement.lengths[:, None]
        features = image_features(items, self.world)
        return Judgement(logits=self.scorer(torch.cat([mean, features], dim=-1)), order=items.given_order)


def image_feature_count(world: World) -> int:
    choices = sum(len(attribute.choices) for attribute in world.attributes)
    numeric = sum(attribute.kind == "numeric" for attribute in world.attributes)
    slot = 1 + choices + numeric + len(Side) + _RELATIONS * world.items[1]
    return world.boxes[1] * world.items[1] * slot


def image_features(items: Items, world: World) -> Tensor:
    """(batch, image feature): boxes in order, in each as many slots as a box can have items, items as they come.

    A slot holds zeros and ones: whether it is taken, the choice of each attribute, walls touched, and for each slot of
    its box whether that one's item is to the right, to the left, below, above; numeric attributes as they are.
    """
    seen, mask = Attributes.of(items, world), items.mask
    x, y = seen.x[..., :, None] - seen.x[..., None, :], seen.y[..., :, None] - seen.y[..., None, :]
    both = mask[..., :, None] & mask[..., None, :]
    relations = torch.stack([x < 0, x > 0, y < 0, y > 0], dim=-1) & both[..., None]  # (batch, box, item, item, 4)
    free = world.items[1] - items.features.size(2)
    relations = pad(relations, (0, 0, 0, free)).flatten(-2)
    numbers = [items.features[..., world.columns[each.name]] for each in world.attributes if each.kind == "numeric"]
    discrete = [seen.values[each] for each in reversed(world.by_name) if each in seen.values]
    own = [mask[..., None], *discrete, seen.walls]
    return pad(torch.cat([*own, relations, *numbers], dim=-1), (0, 0, 0, free)).flatten(1).to(items.features.dtype)
