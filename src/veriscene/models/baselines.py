"""ImageFeat+RNN and CNN+RNN (Suhr et al. 2017), and RelationNet (Santoro et al. 2017): an LSTM reads the statement, and
the scene is one vector, or its pairs of items are asked."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate, linear, pad

from veriscene.config import ModelConfig, share, size
from veriscene.data.batch import Batch, required
from veriscene.data.encoder import Input
from veriscene.data.items import Attributes, Items
from veriscene.data.vocabulary import PADDING, Vocabulary
from veriscene.models.base import Judgement, Model, Order, RecurrentConfig
from veriscene.models.layers.geometry import encode_positions
from veriscene.models.layers.pooling import Scorer, make_pooling
from veriscene.models.layers.recurrence import lstm_to_final_state, xavier_
from veriscene.output import Output
from veriscene.world.schema import World

# ---------------------------------------------------------------- ImageFeat+RNN


@dataclass(frozen=True)
class ImageFeatRNNConfig(ModelConfig):
    name: str = "imagefeat-rnn"
    embedding: int = size(32)
    hidden: int = size(32)
    mlp: int = size(32)


class ImageFeatRNN(Model):
    """An LSTM reads the statement; the scene is one flat vector, slot by slot."""

    Config = ImageFeatRNNConfig
    summary = "ImageFeat+RNN: an LSTM over the words, the scene as one flat vector"

    def __init__(self, config: ImageFeatRNNConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)
        self.embed_words = nn.Embedding(len(vocabulary), config.embedding, padding_idx=PADDING)
        self.lang_lstm = nn.LSTM(config.embedding, config.hidden, batch_first=True)
        features = image_features(Items.empty(world), world).size(1)
        self.scorer = Scorer(config.hidden + features, config.mlp, dropout=0.0)
        xavier_(self)

    def forward(self, batch: Batch) -> Judgement:
        statement, items = batch.statement, required(batch.items)
        outputs, _ = self.lang_lstm(self.embed_words(statement.words))
        # Padding comes after the words, which a forward LSTM reads first, so only the mean must exclude it.
        mean = outputs.masked_fill(~statement.mask[..., None], 0).sum(dim=1) / statement.lengths[:, None]
        features = image_features(items, self.world)
        return Judgement(logits=self.scorer(torch.cat([mean, features], dim=-1)), order=items.given_order)


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


# ---------------------------------------------------------------- CNN+RNN

HEIGHT, WIDTH, STRIP_WIDTH = 40, 160, 20  # of the small picture: three boxes with strips between them
STRIP = 128  # the grey of these strips
CHUNK = 256
KERNELS, STRIDES = (8, 4, 2), (4, 2, 2)


@dataclass(frozen=True)
class CNNRNNConfig(ModelConfig):
    name: str = "cnn-rnn"
    embedding: int = size(16)
    hidden: int = size(128)
    channels: int = size(32, "Channels of the convolutions.")
    picture: int = size(256, "Units of the layer on the convolutions.")
    mlp: int = size(128)
    dropout: float = share(0.0)


class CNNRNN(Model):
    """An LSTM reads the statement, three convolutions the whole picture at 160 x 40."""

    Config = CNNRNNConfig
    summary = "CNN+RNN: an LSTM over the words, convolutions over the whole picture"
    inputs = frozenset({Input.PIXELS})
    order = Order.NONE

    mean: Tensor

    def __init__(self, config: CNNRNNConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)
        self.register_buffer("mean", torch.zeros(3, HEIGHT, WIDTH))  # of the train pictures
        self.embed_words = nn.Embedding(len(vocabulary), config.embedding, padding_idx=PADDING)
        self.lang_lstm = nn.LSTM(config.embedding, config.hidden, batch_first=True)
        inputs, height, width = 3, HEIGHT, WIDTH
        self.convolutions = nn.ModuleList()
        for kernel, stride in zip(KERNELS, STRIDES, strict=True):
            self.convolutions.append(nn.Conv2d(inputs, config.channels, kernel, stride))
            inputs, height, width = config.channels, (height - kernel) // stride + 1, (width - kernel) // stride + 1
        self.picture = nn.Linear(inputs * height * width, config.picture)
        self.joint = nn.Linear(config.hidden + config.picture, config.mlp)
        self.dropout = nn.Dropout(config.dropout)
        self.score = nn.Linear(config.mlp, 1)
        xavier_(self)

    def prepare(self, corpus: Batch) -> None:
        chunks = torch.split(required(corpus.pixels), CHUNK)
        total = torch.stack([joined(small_boxes(chunk)).double().sum(dim=0) for chunk in chunks]).sum(dim=0)
        self.mean.copy_(total / len(corpus))

    def extract(self, corpus: Batch, *, store: bool = False, output: Output | None = None) -> Batch:
        """Puts small boxes in the place of pixels; they take a moment, so there is nothing to store or to say."""
        chunks = torch.split(required(corpus.pixels), CHUNK)
        return replace(corpus, pixels=None, features=torch.cat([small_boxes(chunk).half() for chunk in chunks]))

    def forward(self, batch: Batch) -> Judgement:
        statement = batch.statement
        outputs, _ = self.lang_lstm(self.embed_words(statement.words))
        # Padding comes after the words, which a forward LSTM reads first.
        h = outputs[torch.arange(len(batch), device=batch.device), statement.lengths - 1]
        boxes = batch.features if batch.features is not None else small_boxes(required(batch.pixels))
        if self.training:  # statements do not depend on the order of boxes, so every order is an example
            orders = torch.rand(boxes.shape[:2], device=boxes.device).argsort(dim=1)
            boxes = boxes[torch.arange(len(boxes), device=boxes.device)[:, None], orders]
        maps = joined(boxes.to(self.mean.dtype)) - self.mean
        for convolution in self.convolutions:
            maps = torch.relu(convolution(maps))
        picture = torch.relu(self.picture(self.dropout(maps.flatten(1))))
        joint = torch.relu(self.joint(self.dropout(torch.cat([h, picture], dim=-1))))
        return Judgement(logits=self.score(self.dropout(joint))[:, 0])


def small_boxes(pixels: Tensor) -> Tensor:
    """Sub-images (batch, box, 100, 100, RGB) at 40 x 40 and in [0, 1]: (batch, box, RGB, 40, 40).

    Boxes can be resized one by one, because their edges lie on whole pixels of the small picture.
    """
    boxes = pixels.flatten(0, 1).permute(0, 3, 1, 2).float() / 255
    return interpolate(boxes, (HEIGHT, HEIGHT), mode="area").view(*pixels.shape[:2], 3, HEIGHT, HEIGHT)


def joined(boxes: Tensor) -> Tensor:
    """Small pictures (batch, RGB, 40, 160) from their small boxes, with the strips between them."""
    with_strips = pad(boxes, (0, STRIP_WIDTH), value=STRIP / 255)
    return with_strips.permute(0, 2, 3, 1, 4).flatten(3)[..., :WIDTH]


# ---------------------------------------------------------------- RelationNet


@dataclass(frozen=True)
class RelationNetConfig(RecurrentConfig):
    """Sizes as in appendix A.2: `joint` units per layer in g, `mlp` in f."""

    name: str = "relation-net"
    joint: int = size(256)
    mlp: int = size(256)


class FNet(Scorer):
    """f: a scorer of two hidden layers with ReLU, dropout on the second."""

    def __init__(self, size: int, hidden: int, dropout: float) -> None:
        super().__init__(size, hidden, dropout)
        self.second = nn.Linear(hidden, hidden)

    def forward(self, vectors: Tensor) -> Tensor:
        """(…, size) -> (…)."""
        units = torch.relu(self.second(torch.relu(self.first(vectors))))
        scores: Tensor = self.last(self.dropout(units)).squeeze(-1)
        return scores


class RelationNet(Model):
    """RN(O) = f(Σ_ik g(o_i, o_k, q)), reimplemented as in appendix A.2.

    A relation holds within a box. With pooling `max` or `mean`, f scores each box; with the others it judges the boxes'
    sums together.
    """

    Config = RelationNetConfig
    summary = "RelationNet: the statement asked of every pair of items"
    order = Order.NONE

    def __init__(self, config: RelationNetConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)
        self.coordinates = config.coordinates
        self.embed_words = nn.Embedding(len(vocabulary), config.embedding, padding_idx=PADDING)
        self.lang_lstm = nn.LSTMCell(config.embedding, config.hidden)
        self.dropout = nn.Dropout(config.dropout)  # not in appendix A.2; on the hidden outputs of LSTMs in A.3.1
        # Items enter as they are: a linear embedding before a linear layer would add nothing.
        self.g1 = nn.Linear(2 * world.feature_count + config.hidden, config.joint)
        self.g2 = nn.Linear(config.joint, config.joint)
        self.g3 = nn.Linear(config.joint, config.joint)
        self.pool = make_pooling(config, world, config.joint, FNet)
        xavier_(self, forget_bias=config.forget_bias)

    def forward(self, batch: Batch) -> Judgement:
        statement, items = batch.statement, required(batch.items)
        _, (q, _) = lstm_to_final_state(self.lang_lstm, self.embed_words(statement.words), statement.lengths)
        logits, scores = self.pool(self.relations(self.dropout(q), items), items.box_mask)
        return Judgement(logits=logits, scores=scores)

    def relations(self, q: Tensor, items: Items) -> Tensor:
        """Σ_ik g(o_i, o_k, q) over all ordered pairs of a box's items, (batch, box, joint), for q (batch, hidden).

        An item is also paired with itself, so a box with a single item has a relation too.
        """
        parts = [self.world.feature_count, self.world.feature_count, q.size(-1)]
        of_first, of_second, of_question = torch.split(self.g1.weight, parts, dim=1)
        # W [o_i; o_k; q] in parts: the wide concatenation is never materialised, and q is used once for all pairs.
        question = linear(q, of_question, self.g1.bias)[:, None, None]
        features = encode_positions(items.features, self.coordinates, self.world)
        first = linear(features, of_first) + question
        second = linear(features, of_second)
        pairs = torch.relu(first[:, :, :, None] + second[:, :, None])  # (batch, box, item, item, joint)
        g = torch.relu(self.g3(torch.relu(self.g2(pairs))))
        present = items.mask[:, :, :, None] & items.mask[:, :, None]
        return g.masked_fill(~present[..., None], 0).sum(dim=(2, 3))
