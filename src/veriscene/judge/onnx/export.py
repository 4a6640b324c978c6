"""Writes a checkpoint as one self-contained ONNX file: graph, weights, vocabulary and configuration."""

from __future__ import annotations

import random
from copy import deepcopy
from itertools import product
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from veriscene import __version__, files
from veriscene.data.batch import Batch, Statement, required
from veriscene.data.encoder import Encoder, Input
from veriscene.data.items import Items, item_features
from veriscene.data.letters import CODES, MOST_LETTERS
from veriscene.errors import InputError
from veriscene.judge import ONNX
from veriscene.judge.checkpoint import Checkpoint
from veriscene.judge.judge import FIELDS
from veriscene.judge.onnx.judge import graph_inputs, metadata, open_session
from veriscene.judge.onnx.traced import traced_graph
from veriscene.judge.onnx.written import WRITERS, written_graph
from veriscene.models import Model
from veriscene.models.base import Say, silent
from veriscene.world.scene import BOX_EXTENT, BOXES_PER_SCENE, MOST_ITEMS, Color, Item, Shape, Size

TOLERANCE = 1e-4
# Examples, words, items in the fullest box. Exporters silently freeze lengths, so each must vary.
_SHAPES = tuple(product((1, 5), (1, 4, 9, 40), (1, 3, MOST_ITEMS)))
_TRACED_SHAPE = (4, 7, 5)


def export(checkpoint: Checkpoint, path: Path, *, say: Say = silent) -> None:
    """Writes the file completely or not at all, and only if its outputs equal the model's at several shapes."""
    if not str(path).endswith(ONNX):
        raise InputError(f"must end in {ONNX}", where=path, allowed="`veriscene predict` recognises it by that")
    model = deepcopy(checkpoint.model).cpu().eval()
    _check_exportable(model, checkpoint.config.model.name)
    _check_libraries(model)
    if type(model) not in WRITERS:
        say("exporting, and comparing with torch: up to a minute")
    contents = _graph(checkpoint, model)
    _verify(model, contents, checkpoint.encoder)
    files.write_bytes(path, contents)


def _check_exportable(model: Model, name: str) -> None:
    if Input.ITEMS not in model.inputs or not model.inputs <= {Input.ITEMS, Input.CHARACTERS}:
        raise InputError(f"{name} cannot be exported", allowed="only models that read items can")
    weights: dict[str, Tensor] = model.state_dict()
    for key, tensor in weights.items():
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise InputError(f"{name} cannot be exported: {key} holds values that are not finite (NaN or infinity)")


def _check_libraries(model: Model) -> None:
    try:
        import onnx  # noqa: F401

        if type(model) not in WRITERS:
            import onnxscript  # noqa: F401
    except ImportError as error:
        install = "install it with: pip install 'veriscene[onnx]'"
        raise InputError(f"{error.name} is not installed", allowed=install) from None


def _graph(checkpoint: Checkpoint, model: Model) -> bytes:
    from onnx import helper

    if type(model) in WRITERS:
        graph = written_graph(model)
    else:
        example = random_batch(*_TRACED_SHAPE, checkpoint.encoder, rng=random.Random(0))
        try:
            graph = traced_graph(model, example)
        except Exception as error:  # the exporter's exceptions have no common base class
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise InputError(f"{checkpoint.config.model.name} cannot be exported ({reason:.200})") from error
    helper.set_model_props(graph, metadata(checkpoint))
    graph.producer_name, graph.producer_version = "veriscene", __version__
    contents: bytes = graph.SerializeToString()
    return contents


def _verify(model: Model, contents: bytes, encoder: Encoder) -> None:
    session, rng = open_session(contents, threads=1), random.Random(1)
    names = [output.name for output in session.get_outputs()]
    for shape in _SHAPES:
        batch = random_batch(*shape, encoder, rng=rng)
        with torch.inference_mode():
            judged = {name: tensor for name, tensor in vars(model(batch)).items() if name in FIELDS}
        expected = {name: tensor for name, tensor in judged.items() if tensor is not None}
        found = dict(zip(names, session.run(None, graph_inputs(batch)), strict=True))
        if set(found) != set(expected):
            raise InputError(f"the exported graph has outputs {', '.join(found)}", allowed=f"not {', '.join(expected)}")
        for name, tensor in expected.items():
            # Attention beyond the end of a statement or box is undefined.
            is_real = _is_real(batch, name).expand(tensor.shape).numpy()
            distance = float(np.where(is_real, np.abs(found[name] - tensor.numpy()), 0).max())
            if not distance <= TOLERANCE:
                what = f"the exported graph's {name} differ from the model's by {distance:.1e} at {shape}"
                raise InputError(what, allowed="nothing was written")


def _is_real(batch: Batch, name: str) -> Tensor:
    pairs = batch.statement.mask[:, None, :, None] & required(batch.items).mask[:, :, None]
    return {"alpha": pairs, "beta": pairs.mT}.get(name, torch.tensor(True))


def random_batch(size: int, words: int, items: int, encoder: Encoder, *, rng: random.Random) -> Batch:
    """Random statements and items. The first statement and the first box have the greatest length, others any."""
    words_known = len(encoder.vocabulary)
    lengths = [words, *(rng.randint(1, words) for _ in range(size - 1))]
    counts = [items, *(rng.randint(1, items) for _ in range(size * BOXES_PER_SCENE - 1))]
    boxes = (size, BOXES_PER_SCENE)
    features = torch.tensor([[item_features(_random_item(rng)) for _ in range(items)] for _ in counts])
    numbers = torch.tensor([[rng.randrange(words_known) for _ in range(words)] for _ in lengths])
    spelt = torch.tensor([[_random_codes(rng) for _ in range(words)] for _ in lengths], dtype=torch.uint8)
    positions = torch.arange(items).expand(*boxes, -1)
    return Batch(
        Statement(numbers, torch.tensor(lengths), spelt if Input.CHARACTERS in encoder.inputs else None),
        Items(features.view(*boxes, items, -1), torch.tensor(counts).view(boxes), positions),
    )


def _random_codes(rng: random.Random) -> list[int]:
    length = rng.randint(1, MOST_LETTERS)
    return [rng.randrange(1, CODES) for _ in range(length)] + [0] * (MOST_LETTERS - length)


def _random_item(rng: random.Random) -> Item:
    size = rng.choice(list(Size))
    x, y = (rng.randint(0, BOX_EXTENT - size.value) for _ in range(2))
    return Item(x=x, y=y, size=size, shape=rng.choice(list(Shape)), color=rng.choice(list(Color)))
