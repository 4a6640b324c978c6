"""CNN+RNN (Suhr et al. 2017): an LSTM reads the statement, three convolutions the whole picture at 160 x 40."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate, pad

from veriscene.config import ModelConfig, share, size
from veriscene.data.batch import Batch, required
from veriscene.data.encoder import Input
from veriscene.data.vocabulary import PADDING, Vocabulary
from veriscene.models.base import Judgement, Model, Order
from veriscene.models.layers.recurrence import xavier_
from veriscene.output import Output
from veriscene.world.schema import World

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
