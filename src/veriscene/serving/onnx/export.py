"""A checkpoint as one ONNX file that needs nothing beside it: graph, weights, vocabulary and configuration."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from veriscene import __version__, files
from veriscene.errors import InputError
from veriscene.models import chooses_order
from veriscene.models.base import Judgement
from veriscene.scenes.scene import BOXES_PER_SCENE, MOST_ITEMS
from veriscene.serving.onnx.judge import INPUTS, SUFFIX, describe, open_session
from veriscene.serving.onnx.models import model_graph
from veriscene.tensors.batch import Batch
from veriscene.tensors.features import ITEM_FEATURES
from veriscene.training.checkpoint import Checkpoint

TOLERANCE = 1e-4
_SHAPES = ((1, 1, 1), (1, 9, MOST_ITEMS), (5, 4, 3))  # examples, words, items in the fullest box


def export(checkpoint: Checkpoint, path: Path) -> None:
    """Writes the file whole or not at all, and only if it judges as the model does, at several shapes."""
    if not str(path).endswith(SUFFIX):
        raise InputError(f"{path}: must end in {SUFFIX}, by which `veriscene predict` knows what it is given")
    model = _described(checkpoint)
    _compare(checkpoint, model)
    files.write_bytes(path, model)


def _described(checkpoint: Checkpoint) -> bytes:
    try:
        from onnx import helper
    except ImportError:
        raise InputError("onnx is not installed; pip install 'veriscene[onnx]'") from None

    model = model_graph(checkpoint.model)
    description = describe(
        vocabulary=checkpoint.vocabulary,
        config=checkpoint.config,
        order_is_chosen=chooses_order(checkpoint.model),
    )
    helper.set_model_props(model, description)
    model.producer_name, model.producer_version = "veriscene", __version__
    contents: bytes = model.SerializeToString()
    return contents


def _compare(checkpoint: Checkpoint, model: bytes) -> None:
    """The graph repeats what the models do; a model that has moved on without it must not be written wrongly."""
    session, device = open_session(model, threads=1), next(checkpoint.model.parameters()).device
    generator = torch.Generator().manual_seed(1)
    for shape in _SHAPES:
        batch = _random_batch(*shape, len(checkpoint.vocabulary), generator)
        with torch.inference_mode():
            expected: Judgement = checkpoint.model.eval()(batch.to(device))
        given = {name: getattr(batch, name).numpy() for name in INPUTS}
        names = ("logits", "scores", "order")
        for name, found in zip(names, session.run(list(names), given), strict=True):
            distance = np.abs(found - getattr(expected, name).cpu().numpy()).max()
            if not distance <= TOLERANCE:
                raise RuntimeError(f"the exported graph's {name} are {distance:.1e} away from the model's at {shape}")


def _random_batch(size: int, words: int, items: int, vocabulary: int, generator: torch.Generator) -> Batch:
    """The first example is of full length, its first box full; the others are what they happen to be."""

    def upto(most: int, *shape: int) -> torch.Tensor:
        numbers = torch.randint(1, most + 1, shape, generator=generator)
        numbers.view(-1)[0] = most
        return numbers

    lengths, counts = upto(words, size), upto(items, size, BOXES_PER_SCENE)
    features = torch.rand(size, BOXES_PER_SCENE, items, ITEM_FEATURES, generator=generator)
    numbers = torch.randint(vocabulary, (size, words), generator=generator)
    positions = torch.arange(items).expand(size, BOXES_PER_SCENE, items)
    return Batch(words=numbers, lengths=lengths, items=features, counts=counts, positions=positions)
