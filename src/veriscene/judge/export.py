"""Writes models as ONNX files: a checkpoint as one self-contained file, or graphs beside the weights they share with
torch.

A model that chooses an order item by item is traced with the maximum number of items.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn
from torch.export import Dim

from veriscene import __version__, files
from veriscene.data.batch import Batch, Statement, required
from veriscene.data.encoder import Encoded, Encoder, Input, Order
from veriscene.data.eyes import BOX_EXTENT, WIDTH
from veriscene.data.items import Items
from veriscene.data.reader import START, split_words
from veriscene.errors import InputError, first_line, located, missing_package
from veriscene.judge import ONNX, folders
from veriscene.judge import READER as SAFETENSORS
from veriscene.judge import checkpoint as checkpoints
from veriscene.judge.checkpoint import Checkpoint
from veriscene.judge.graphs import Replacements, Traceable, attach, describe, trace
from veriscene.judge.judge import FIELDS
from veriscene.judge.onnx_judge import FORMAT, FORMAT_KEY, OnnxEyes, OnnxReader, graph_inputs, graphs_of
from veriscene.judge.sessions import WEIGHTS_KEY, Graph, weights_header
from veriscene.models import Model
from veriscene.models.base import check_values
from veriscene.models.reader import Reader, ReaderNetwork
from veriscene.models.vision.eyes import Eyes
from veriscene.output import Say, silent
from veriscene.world.examples import MAX_WORDS, Example
from veriscene.world.random_scenes import random_item
from veriscene.world.scene import Box, Item, Scene
from veriscene.world.schema import World
from veriscene.world.world_file import to_tree

TOLERANCE = 1e-4  # of outputs up to 1; relative to the greatest where they are larger, as rounding errors are
_TRACED_SHAPE = (4, 7, 5)  # examples, words, items; none of them 1, which the exporter takes for a constant


def export(checkpoint: Checkpoint, path: Path, *, weights: Path | None = None, say: Say = silent) -> None:
    """Writes the file completely or not at all, and only if its outputs equal the model's at several shapes.

    It contains the weights, unless `weights` is the safetensors file beside it that has them.
    """
    if not str(path).endswith(ONNX):
        raise InputError(f"must end in {ONNX}", where=path, allowed="`veriscene predict` recognises it by that")
    model, name = deepcopy(checkpoint.model).cpu().eval(), checkpoint.config.model.name
    _check_exportable(model, name)
    say("exporting, and comparing with torch: up to a minute")
    with _reported(name):
        example = random_batch(*_TRACED_SHAPE, checkpoint.encoder, rng=random.Random(0))
        graph = _traced(model, example, checkpoint.encoder.world)
    metadata = {
        FORMAT_KEY: FORMAT,
        "veriscene": __version__,
        "config": checkpoint.config.to_json(),
        "vocabulary": checkpoint.encoder.vocabulary.words,
        "world": to_tree(checkpoint.encoder.world),
        "order": checkpoint.model.order.value,
    }
    contents = _finished(graph, model, weights, metadata)
    _verify(model, Graph(contents, threads=1, weights=weights, is_own=True).session, checkpoint.encoder)
    files.write_bytes(path, contents)


def export_beside(model: str | Path, *, say: Say = silent) -> list[Path]:
    """Writes graphs beside the weights of a checkpoint and of its reader, or of a reader's or eyes' file alone, which
    are then used without torch. Returns the paths of the graphs."""
    if path := weights_file(model):
        return [*export_reader(path, say=say)] if is_reader(path) else [export_eyes(path, say=say)]
    folder = folders.find(model)
    graphs = [folder / folders.GRAPH]
    export(checkpoints.load(folder), graphs[0], weights=folder / folders.WEIGHTS, say=say)
    if (folder / folders.READER).exists():
        graphs += export_reader(folder / folders.READER, say=say)
    return graphs


def weights_file(model: str | Path) -> Path | None:
    """Returns the file of a reader or of eyes that `model` names; None for a checkpoint."""
    path = folders.shipped_readers().get(str(model), Path(model))
    return path if path.suffix == SAFETENSORS else None


def is_reader(path: Path) -> bool:
    """Returns whether a file of weights says that it is a reader's; raises InputError if it cannot be read."""
    with files.opened(path):  # for its error messages: safetensors does not name a missing file
        pass
    try:
        with safe_open(path, "np") as stored:
            return "reader" in (stored.metadata() or {})
    except SafetensorError as error:
        raise InputError(f"damaged ({first_line(error)})", where=path) from None


def export_reader(path: Path, *, say: Say = silent) -> tuple[Path, Path]:
    """Writes the graphs of a reader beside its file, only if they write what torch does. Returns their paths."""
    reader = Reader.load(path)
    network, config = reader.network, reader.config
    say("exporting the reader")
    texts = [" ".join(drawn) for drawn in _random_words(reader.words, random.Random(1))]
    words, ngrams = reader.encode([split_words(text) for text in texts[:4]])
    batch, word, past = Dim("batch"), Dim("word", max=config.max_words), Dim("past", min=0, max=config.max_tokens)
    with _reported("the reader"), torch.no_grad():
        given = {"words": words, "ngrams": ngrams}
        dynamic: dict[str, tuple[Dim | None, ...]] = {"words": (batch, word), "ngrams": (batch, word)}
        encoder = trace(_Reading(network), given, dynamic, ("statement", "mask"))
        statement, mask = _Reading(network)(words, ngrams)
        token, place = torch.full((len(words), 1), START), torch.tensor([3])
        size = (config.layers, 2, len(words), config.heads, 3, config.dim // config.heads)
        given = {"token": token, "place": place, "statement": statement, "mask": mask, "past": torch.zeros(size)}
        dynamic = {"token": (batch,), "place": (), "mask": (batch, None, None, word)}
        dynamic |= {"statement": (None, None, batch, None, word), "past": (None, None, batch, None, past)}
        decoder = trace(_Writing(network), given, dynamic, ("scores", "now"))
    graphs = [_finished(graph, network, path, {}) for graph in (encoder, decoder)]
    found = OnnxReader(path, graphs).read(texts)
    for ours, theirs in zip(reader.read(texts), found, strict=True):
        distance = max(abs(vars(ours)[name] - vars(theirs)[name]) for name in ("certainty", "dialect", "outside"))
        if ours.program != theirs.program or distance > TOLERANCE:
            what = f"the exported reader differs from torch's by {distance:.1e}"
            raise InputError(what, where=path, allowed="nothing was written")
    for target, contents in zip(graphs_of(path), graphs, strict=True):
        files.write_bytes(target, contents)
    return graphs_of(path)


def export_eyes(path: Path, *, say: Say = silent) -> Path:
    """Writes the graph of eyes beside their file, only if it sees what torch does. Returns its path."""
    eyes, target = Eyes.load(path), path.with_suffix(ONNX)
    say("exporting the eyes")
    pictures = torch.from_numpy(np.random.default_rng(1).integers(0, 256, (2, BOX_EXTENT, WIDTH, 3), np.uint8))
    with _reported("eyes"):
        graph = trace(_Seeing(eyes), {"pictures": pictures}, {"pictures": (Dim("batch"),)}, ("cells",))
    contents = _finished(graph, eyes, path, {})
    for some in (pictures, pictures[:1]):
        distance = float(np.abs(OnnxEyes(path, contents).see(some.numpy()) - eyes.see(some.numpy())).max())
        if not distance <= 10 * TOLERANCE:  # logits of up to about 100
            raise InputError(f"the exported eyes differ by {distance:.1e}", where=path, allowed="nothing was written")
    files.write_bytes(target, contents)
    return target


class _Seeing(Traceable):
    model: Eyes

    def forward(self, *tensors: Tensor) -> Tensor:
        with Replacements():
            cells: Tensor = self.model(*tensors)
        return cells


class _Reading(Traceable):
    """The statement as the decoder's layers attend to it: (layer, 2, batch, head, place, dim)."""

    model: ReaderNetwork

    def forward(self, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        with Replacements():
            statement, mask = self.model.encode(*tensors)
        return torch.stack([torch.stack(layer) for layer in statement]), mask


class _Writing(Traceable):
    model: ReaderNetwork

    def forward(self, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        token, place, statement, mask, past = tensors
        before, context = ([(key, value) for key, value in each] for each in (past, statement))
        scores, now = self.model.step(token, place, context, mask, before)
        return scores, torch.stack([torch.stack(layer) for layer in now])


def _random_words(words: Sequence[str], rng: random.Random) -> Iterator[list[str]]:
    for number in range(40):
        yield [rng.choice([*words, "qx" * rng.randint(1, 5)]) for _ in range(7 if number == 0 else rng.randint(1, 30))]


def _finished(graph: Any, model: nn.Module, weights: Path | None, metadata: Mapping[str, object]) -> bytes:
    attach(graph, model, weights)
    describe(graph, metadata if weights is None else {**metadata, WEIGHTS_KEY: weights_header(weights)[1]})
    contents: bytes = graph.SerializeToString()
    return contents


@contextmanager
def _reported(name: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # the exporter's exceptions have no common base class
        raise InputError(f"{name} cannot be exported ({first_line(error):.200})") from error


def _check_exportable(model: Model, name: str) -> None:
    if Input.ITEMS not in model.inputs or not model.inputs <= {Input.ITEMS, Input.CHARACTERS}:
        raise InputError(f"{name} cannot be exported", allowed="only models that read items can")
    with located(f"{name} cannot be exported"):
        check_values(model.state_dict(), {})
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as error:
        raise missing_package(error) from None


def _traced(model: Model, example: Encoded, world: World) -> Any:
    """Returns the model as an onnx.ModelProto with dynamic batch, word and item dimensions."""
    with torch.no_grad():
        judged = vars(model(Batch.of(example)))
    inputs = {name: torch.from_numpy(array) for name, array in graph_inputs(example).items()}
    batch, word, most = Dim("batch"), Dim("word", max=MAX_WORDS), world.items[1]
    item = Dim("item", max=most) if most > 1 else None  # of one item the number never differs
    dynamic: dict[str, tuple[Dim | None, ...]] = {"words": (batch, word), "lengths": (batch,), "counts": (batch,)}
    dynamic |= {"features": (batch, None, item), "characters": (batch, word), "boxes": (batch,)}
    outputs = [name for name in FIELDS if judged[name] is not None]
    return trace(_Judgement(model, world, list(inputs)), inputs, dynamic, outputs)


class _Judgement(Traceable):
    def __init__(self, model: Model, world: World, names: Sequence[str]) -> None:
        super().__init__(model)
        self.world, self.names, self.is_unrolled = world, names, model.order is Order.CHOSEN

    def forward(self, *tensors: Tensor) -> tuple[Tensor, ...]:
        named = dict(zip(self.names, tensors, strict=True))
        features, counts = named["features"], named["counts"]
        most = self.world.items[1]
        given = torch.arange(features.size(2))
        if self.is_unrolled:  # its loop over the items
            padding = features.new_zeros(*counts.shape, most, features.size(3))
            features = torch.cat([features, padding], dim=2)[:, :, :most]
        positions = torch.arange(features.size(2)).expand(features.shape[:3])
        with Replacements():
            statement = Statement(named["words"], named["lengths"], named.get("characters"))
            judged = vars(self.model(Batch(statement, Items(features, counts, positions, named.get("boxes")))))
        if self.is_unrolled:
            places = {"order": 2, "alpha": 3, "beta": 2}
            judged |= {name: judged[name].index_select(axis, given) for name, axis in places.items()}
        return tuple(judged[name] for name in FIELDS if judged[name] is not None)


def _verify(model: Model, session: Any, encoder: Encoder) -> None:
    """Raises InputError unless ONNX Runtime computes what torch does, at every shape."""
    rng = random.Random(1)
    names = [output.name for output in session.get_outputs()]
    # Exporters silently freeze lengths, so each must vary: examples, words, items in the fullest box.
    most = encoder.world.items[1]
    for shape in product((1, 5), (1, 4, 9, 40), sorted({1, min(3, most), most})):
        encoded = random_batch(*shape, encoder, rng=rng)
        batch = Batch.of(encoded)
        with torch.inference_mode():
            judged = {name: tensor for name, tensor in vars(model(batch)).items() if name in FIELDS}
        expected = {name: tensor for name, tensor in judged.items() if tensor is not None}
        found = dict(zip(names, session.run(None, graph_inputs(encoded)), strict=True))
        if set(found) != set(expected):
            raise InputError(f"the exported graph has outputs {', '.join(found)}", allowed=f"not {', '.join(expected)}")
        for name, tensor in expected.items():
            # Attention beyond the end of a statement or box is undefined.
            is_real = _is_real(batch, name).expand(tensor.shape).numpy()
            distance = float(np.where(is_real, np.abs(found[name] - tensor.numpy()), 0).max())
            if not distance <= TOLERANCE * max(1.0, float(np.where(is_real, tensor.abs().numpy(), 0).max())):
                what = f"the exported graph's {name} differ from the model's by {distance:.1e} at {shape}"
                raise InputError(what, allowed="nothing was written")


def _is_real(batch: Batch, name: str) -> Tensor:
    items = required(batch.items)
    pairs = batch.statement.mask[:, None, :, None] & items.mask[:, :, None]
    every = torch.tensor(True)
    boxes = every if items.box_mask is None else items.box_mask
    return {"alpha": pairs, "beta": pairs.mT, "scores": boxes, "order": items.mask}.get(name, every)


def random_batch(size: int, words: int, items: int, encoder: Encoder, *, rng: random.Random) -> Encoded:
    """Returns random statements about random scenes. The first statement and box have the greatest length, others any;
    some words are unknown, and items may overlap."""
    world, known = encoder.world, [word for word in encoder.vocabulary.words if word.isalpha()]
    items = min(items, world.items[1])

    def item() -> Item:
        drawn = random_item(world, rng)
        room = (world.canvas[0] - drawn.width, world.canvas[1] - drawn.height)
        x, y = (round(rng.uniform(0, side)) for side in room)
        return world.changed(drawn, x=x, y=y)

    examples = []
    for number in range(size):
        length = words if number == 0 else rng.randint(1, words)
        counts = [rng.randint(min(world.items[0], items), items) for _ in range(rng.randint(*world.boxes))]
        counts[0] = items if number == 0 else counts[0]
        statement = " ".join(rng.choice([*known, "qx" * rng.randint(1, 20)]) for _ in range(length))
        boxes = tuple(Box(tuple(item() for _ in range(count))) for count in counts)
        examples.append(Example("0-0", statement, Scene(boxes)))
    return encoder.arrays(examples)
