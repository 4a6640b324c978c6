"""ImageFeat+RNN (Suhr et al. 2017): an LSTM reads the statement; the scene is one flat vector, slot by slot."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from veriscene.models.layers.attention import xavier_
from veriscene.models.layers.pooling import Scorer
from veriscene.models.whole_image import WholeImage
from veriscene.scenes.scene import BOXES_PER_SCENE, MOST_ITEMS, Color, Shape, Side, Size
from veriscene.tensors.batch import Batch
from veriscene.tensors.items import Items
from veriscene.tensors.vocabulary import PADDING

_RELATIONS = 4
_SLOT = 1 + len(Color) + len(Shape) + len(Size) + len(Side) + _RELATIONS * MOST_ITEMS
IMAGE_FEATURES = BOXES_PER_SCENE * MOST_ITEMS * _SLOT


class ImageFeatRNN(WholeImage):
    def __init__(
        self, *, vocabulary: int, embedding: int = 32, hidden: int = 32, mlp: int = 32, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.embed_words = nn.Embedding(vocabulary, embedding, padding_idx=PADDING)
        self.lang_lstm = nn.LSTM(embedding, hidden, batch_first=True)
        self.scorer = Scorer(hidden + IMAGE_FEATURES, mlp, dropout)
        xavier_(self)

    def judge(self, batch: Batch) -> Tensor:
        outputs, _ = self.lang_lstm(self.embed_words(batch.words))
        # Padding comes after the words, which a forward LSTM reads first, so only the mean must leave it out.
        said = outputs.masked_fill(~batch.word_mask[..., None], 0).sum(dim=1) / batch.lengths[:, None]
        scores: Tensor = self.scorer(torch.cat([said, image_features(batch)], dim=-1))
        return scores


def image_features(batch: Batch) -> Tensor:
    """(batch, IMAGE_FEATURES), zeros and ones: boxes in order, in each MOST_ITEMS slots, items as they come.

    A slot holds: whether it is taken, colour, shape, size, walls touched, and for each slot of its box whether that
    one's item is to the right, to the left, below, above.
    """
    items = Items.of(batch)
    x, y = items.x[..., :, None] - items.x[..., None, :], items.y[..., :, None] - items.y[..., None, :]
    both = batch.item_mask[..., :, None] & batch.item_mask[..., None, :]
    relations = torch.stack([x < 0, x > 0, y < 0, y > 0], dim=-1) & both[..., None]  # (batch, box, item, item, 4)
    free = MOST_ITEMS - batch.items.size(2)
    relations = pad(relations, (0, 0, 0, free)).flatten(-2)
    own = [batch.item_mask[..., None], items.colors, items.shapes, items.sizes, items.walls]
    return pad(torch.cat([*own, relations], dim=-1), (0, 0, 0, free)).flatten(1).to(batch.items.dtype)
