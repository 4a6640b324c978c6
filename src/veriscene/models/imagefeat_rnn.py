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
from veriscene.models.layers.bilstm import xavier_
from veriscene.models.layers.pooling import Scorer
from veriscene.world.scene import BOXES_PER_SCENE, MOST_ITEMS, Color, Shape, Side, Size

_RELATIONS = 4
_SLOT = 1 + len(Color) + len(Shape) + len(Size) + len(Side) + _RELATIONS * MOST_ITEMS
IMAGE_FEATURES = BOXES_PER_SCENE * MOST_ITEMS * _SLOT


@dataclass(frozen=True)
class ImageFeatRNNConfig(ModelConfig):
    name: str = "imagefeat-rnn"
    embedding: int = size(32)
    hidden: int = size(32)
    mlp: int = size(32)


class ImageFeatRNN(Model):
    Config = ImageFeatRNNConfig
    summary = "ImageFeat+RNN: an LSTM over the words, the scene as one flat vector"

    def __init__(self, *, vocabulary: Vocabulary, embedding: int, hidden: int, mlp: int) -> None:
        super().__init__()
        self.embed_words = nn.Embedding(len(vocabulary), embedding, padding_idx=PADDING)
        self.lang_lstm = nn.LSTM(embedding, hidden, batch_first=True)
        self.scorer = Scorer(hidden + IMAGE_FEATURES, mlp, dropout=0.0)
        xavier_(self)

    def forward(self, batch: Batch) -> Judgement:
        statement, items = batch.statement, required(batch.items)
        outputs, _ = self.lang_lstm(self.embed_words(statement.words))
        # Padding comes after the words, which a forward LSTM reads first, so only the mean must exclude it.
        mean = outputs.masked_fill(~statement.mask[..., None], 0).sum(dim=1) / statement.lengths[:, None]
        return Judgement(logits=self.scorer(torch.cat([mean, image_features(items)], dim=-1)), order=items.given_order)


def image_features(items: Items) -> Tensor:
    """(batch, IMAGE_FEATURES), zeros and ones: boxes in order, in each MOST_ITEMS slots, items as they come.

    A slot holds: whether it is taken, colour, shape, size, walls touched, and for each slot of its box whether that
    one's item is to the right, to the left, below, above.
    """
    seen, mask = Attributes.of(items), items.mask
    x, y = seen.x[..., :, None] - seen.x[..., None, :], seen.y[..., :, None] - seen.y[..., None, :]
    both = mask[..., :, None] & mask[..., None, :]
    relations = torch.stack([x < 0, x > 0, y < 0, y > 0], dim=-1) & both[..., None]  # (batch, box, item, item, 4)
    free = MOST_ITEMS - items.features.size(2)
    relations = pad(relations, (0, 0, 0, free)).flatten(-2)
    own = [mask[..., None], seen.colors, seen.shapes, seen.sizes, seen.walls]
    return pad(torch.cat([*own, relations], dim=-1), (0, 0, 0, free)).flatten(1).to(items.features.dtype)
