"""A judge, a reader and eyes on ONNX Runtime, without torch."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from veriscene import files
from veriscene.data.encoder import Encoded, Encoder, Input, ItemOrder, Order, scattered
from veriscene.data.eyes import SHIPPED as SHIPPED_EYES
from veriscene.data.eyes import PictureReader, Pixels
from veriscene.data.reader import (
    END,
    FILE_ERRORS,
    START,
    ProgramReader,
    invalid_reader,
    language_of,
    read_file,
)
from veriscene.data.vocabulary import Vocabulary
from veriscene.errors import InputError
from veriscene.files import parse_json
from veriscene.judge.folders import DOWNLOADED, GRAPH, READER, WEIGHTS, read_metrics
from veriscene.judge.judge import FIELDS, Array, NetworkJudge, Question, Verdict
from veriscene.judge.sessions import Graph, default_threads
from veriscene.world.world_file import world_of

if TYPE_CHECKING:
    from veriscene.judge.checkpoint import Checkpoint

FORMAT_KEY, FORMAT = "veriscene_format", "3"
GROUP = 16  # questions per run of the graph; larger groups need more padding and overflow the caches
INPUTS = ("words", "lengths", "features", "counts", "characters", "boxes")  # of a graph: fields of Encoded
PICTURES_AT_ONCE = 2  # each takes 110 MB while it is read, and more at once are not read faster on a CPU
State = tuple[Array, Array, Array]  # the statement as the decoder attends to it, its mask, keys and values of tokens


class OnnxJudge(NetworkJudge):
    """Answers as a TorchJudge does, on the CPU."""

    def __init__(
        self, model: Path | bytes, *, threads: int, weights: Path | None = None, reader: ProgramReader | None = None
    ) -> None:
        """`model` is an exported file or its contents; `weights` the safetensors file that it refers to."""
        self.threads, self.reader = threads, reader
        # All threads share one question. Of many questions each thread takes its own group, without synchronisation.
        self._shared = Graph(model, threads=threads, weights=weights)
        self._own = self._shared if threads == 1 else Graph(model, threads=1, weights=weights)
        where = "the model" if isinstance(model, bytes) else str(model)
        try:
            self._outputs = [output.name for output in self._own.session.get_outputs()]
            inputs = [given.name for given in self._own.session.get_inputs()]
            metadata = self._own.session.get_modelmeta().custom_metadata_map
        except UnicodeDecodeError:
            raise InputError("damaged", where=where, allowed="export it again") from None
        self._read_metadata(metadata, inputs, where)
        self.metrics = {} if weights is None else read_metrics(weights.parent)

    @classmethod
    def load(cls, path: str | Path, *, device: str = "cpu", threads: int | None = None) -> OnnxJudge:
        """Loads a file that `veriscene export` wrote, or the folder of a checkpoint with graphs; uses `default_threads`
        unless `threads` is given."""
        if str(device) != "cpu":
            raise InputError(f"runs on the CPU only, not on {device!r}", where=path, allowed="use device='cpu'")
        path, threads = Path(path), threads or default_threads()
        if not path.is_dir():
            return cls(path, threads=threads)
        reader = OnnxReader(path / READER, threads=threads) if (path / READER).exists() else None
        return cls(path / GRAPH, threads=threads, weights=path / WEIGHTS, reader=reader)

    def _saved(self) -> Checkpoint:
        if self._own.weights is None:
            return super()._saved()
        from veriscene.judge import checkpoint as checkpoints

        return checkpoints.load(self._own.weights.parent)

    def _write(self, folder: Path) -> None:
        assert self._own.weights is not None  # `_saved` was called before
        for name in DOWNLOADED:
            if (self._own.weights.parent / name).exists():
                files.write_bytes(folder / name, (self._own.weights.parent / name).read_bytes())

    def _by_network(self, questions: list[Question], fields: Collection[str] = FIELDS) -> list[Verdict]:
        try:
            return super()._by_network(questions, fields)
        except (LookupError, TypeError, ValueError) as error:  # a stranger's graph may have other outputs or shapes
            raise self._own.misfit(error) from None

    def run(self, encoded: Encoded, fields: Collection[str] = FIELDS) -> dict[str, Array]:
        outputs = [name for name in self._outputs if name in fields]

        def run(graph: Graph, encoded: Encoded) -> dict[str, Array]:
            found = dict(zip(outputs, graph.run(graph_inputs(encoded), outputs), strict=True))
            if found["logits"].shape != encoded.lengths.shape:
                raise ValueError(f"logits of shape {found['logits'].shape}")
            return found

        if len(encoded.words) <= GROUP:
            return run(self._shared, encoded)
        groups = list(encoded.groups(GROUP))
        with ThreadPoolExecutor(min(self.threads, len(groups))) as pool:
            judged = pool.map(lambda group: run(self._own, encoded.fitted(*group)), groups)
            return scattered([(rows, found) for (rows, _, _), found in zip(groups, judged, strict=True)])

    def _read_metadata(self, found: Mapping[str, str], given: Sequence[str], where: str) -> None:
        if FORMAT_KEY not in found:
            raise InputError("not a file that `veriscene export` wrote", where=where)
        if found[FORMAT_KEY] != FORMAT:
            what = f"written by another version of veriscene (format {found[FORMAT_KEY]:.20}, not {FORMAT})"
            raise InputError(what, where=where, allowed="export it again")
        try:
            config: Any
            words: Any
            config, words, world = (parse_json(found[key]) for key in ("config", "vocabulary", "world"))
            self.name, item_order = str(config["model"]["name"]), ItemOrder(config["data"]["order"])
            self.order, vocabulary = Order(found["order"]), Vocabulary(tuple(words))
            inputs = {Input.ITEMS, *([Input.CHARACTERS] if "characters" in given else [])}
            self.encoder = Encoder(vocabulary, world_of(world, where=where), frozenset(inputs), item_order)
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError, InputError) as error:
            raise InputError(f"damaged ({error})", where=where, allowed="export it again") from None


def graph_inputs(encoded: Encoded) -> dict[str, Array]:
    """Returns the inputs of an exported graph by name."""
    return {name: array for name in INPUTS if (array := getattr(encoded, name)) is not None}


class OnnxEyes(PictureReader):
    """Sees with the shipped eyes, or those in another file, whose graph is beside it unless it is given."""

    def __init__(self, weights: Path = SHIPPED_EYES, graph: bytes | None = None) -> None:
        self._graph = Graph(graph or weights.with_suffix(".onnx"), threads=default_threads(), weights=weights)

    def see(self, pictures: Pixels) -> NDArray[np.float32]:
        few = [pictures[at : at + PICTURES_AT_ONCE] for at in range(0, len(pictures), PICTURES_AT_ONCE)]
        return np.concatenate([self._graph.run({"pictures": each})[0] for each in few])


# ---------------------------------------------------------------- one graph reads words, another writes tokens


def graphs_of(path: Path) -> tuple[Path, Path]:
    """Returns where the graphs of a reader's file are, whether or not they exist."""
    return path.with_name(f"{path.stem}-encoder.onnx"), path.with_name(f"{path.stem}-decoder.onnx")


class OnnxReader(ProgramReader):
    """Reads as the reader in the same file does in torch, on the CPU."""

    def __init__(self, path: Path, graphs: Sequence[Path | bytes] = (), *, threads: int | None = None) -> None:
        """`graphs`: those of encoder and decoder; by default the files beside the reader's."""
        self.path, self.graphs, self.threads = path.absolute(), graphs, threads or default_threads()
        try:
            about, config, _ = read_file(path)
            super().__init__(config, about["words"], about["tokens"], language_of(about, path))
            self.grammar = about.get("grammar")
        except FILE_ERRORS as error:
            raise invalid_reader(path, error) from None
        # Its products are small: a second thread for one of them takes longer, and twice the processor's time.
        self._encoder, self._decoder = (Graph(graph, threads=1, weights=path) for graph in graphs or graphs_of(path))

    def __reduce__(self) -> tuple[Any, ...]:
        return OnnxReader, (self.path, self.graphs)

    def save(self, path: Path) -> None:
        files.write_bytes(path, self.path.read_bytes())

    def _write(self, words: Array, ngrams: Array, is_brief: Array) -> tuple[Array, Array, Array]:
        first, state = self.step(np.full(len(words), START), 0, self.begin(words, ngrams))
        tokens, missing = self._begun(first, is_brief)
        rows, token, least = np.arange(len(words)), tokens[:, 0], np.ones(len(words), np.float32)
        for place in range(1, tokens.shape[1]):
            is_open = missing >= 0
            if not is_open.any():
                break
            if not is_open.all():
                rows, token, missing, state = rows[is_open], token[is_open], missing[is_open], self.keep(state, is_open)
            scores, state = self.step(token, place, state)
            allowed = np.where(missing[:, None] > 0, self._is_program, self._is_end)
            tokens[rows, place] = token = np.where(allowed, scores, -np.inf).argmax(1)
            least[rows] = np.minimum(least[rows], np.exp(np.take_along_axis(scores, token[:, None], 1)[:, 0]))
            missing = np.where(token == END, -1, missing + self._arities[token] - 1)
        return tokens, least, first

    def begin(self, words: Array, ngrams: Array) -> State:
        """(batch, place), (batch, place, n-gram) -> what `step` needs to know of the statements."""
        config = self.config
        statement, mask = self._encoder.run({"words": words, "ngrams": ngrams}, ("statement", "mask"))
        past = np.zeros((config.layers, 2, len(words), config.heads, 0, config.dim // config.heads), np.float32)
        return statement, mask, past

    def step(self, token: Array, place: int, state: State) -> tuple[Array, State]:
        """Continues the tokens (batch,) before a place -> the log probabilities of those at it, (batch, number of
        tokens), and the state after it."""
        statement, mask, past = state
        given = {"token": token[:, None], "place": np.array([place]), "statement": statement, "mask": mask}
        scores, now = self._decoder.run({**given, "past": past}, ("scores", "now"))
        if scores.shape != (len(token), self.config.tokens):
            raise self._decoder.misfit(ValueError(f"scores of shape {scores.shape}"))
        return scores, (statement, mask, now)

    def keep(self, state: State, rows: Array) -> State:
        """Returns the state of some of the statements, (batch,) bool."""
        statement, mask, past = state
        return statement[:, :, rows], mask[rows], past[:, :, rows]
