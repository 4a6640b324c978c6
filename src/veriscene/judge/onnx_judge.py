"""A Judge on ONNX Runtime, from one file that `veriscene export` wrote."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch

from veriscene import models
from veriscene.config import Config
from veriscene.data.batch import Batch, required
from veriscene.data.vocabulary import Vocabulary
from veriscene.errors import InputError
from veriscene.files import parse_json
from veriscene.judge.checkpoint import MOST_BYTES
from veriscene.judge.judge import Array, Judge, Question, Verdict
from veriscene.models import Order
from veriscene.world.world_file import world_of

FORMAT_KEY, FORMAT = "veriscene_format", "3"
GROUP = 16  # questions per run of the graph; larger groups need more padding and overflow the caches


class OnnxJudge(Judge):
    """Answers as a TorchJudge does, on the CPU."""

    config: Config

    def __init__(self, model: Path | bytes, *, threads: int) -> None:
        """`model` is an exported file or its contents."""
        self._model, self.threads = model, threads
        # All threads share one question. Of many questions each thread takes its own group, without synchronisation.
        self._shared = open_session(model, threads=threads)
        self._own = self._shared if threads == 1 else open_session(model, threads=1)
        where = "the model" if isinstance(model, bytes) else str(model)
        try:
            self._outputs = [output.name for output in self._own.get_outputs()]
            metadata = self._own.get_modelmeta().custom_metadata_map
        except UnicodeDecodeError:
            raise InputError("damaged", where=where, allowed="export it again") from None
        _read_metadata(self, metadata, where)

    @classmethod
    def load(cls, path: str | Path, *, device: str = "cpu", threads: int | None = None) -> OnnxJudge:
        """Loads a file that `veriscene export` wrote; uses as many threads as torch does unless `threads` is given."""
        if str(device) != "cpu":
            raise InputError(f"runs on the CPU only, not on {device!r}", where=path, allowed="use device='cpu'")
        return cls(Path(path), threads=threads or torch.get_num_threads())

    def describe(self) -> dict[str, str | float | None]:
        return {**super().describe(), "model": self.config.model.name}

    def __getstate__(self) -> dict[str, Any]:
        model = self._model if isinstance(self._model, bytes) else self._model.absolute()
        return {"model": model, "threads": self.threads}

    def __setstate__(self, state: dict[str, Any]) -> None:
        OnnxJudge.__init__(self, state["model"], threads=state["threads"])

    def _judge(self, questions: list[Question]) -> list[Verdict]:
        if len(questions) <= GROUP:
            return self._run(self._shared, questions)
        # Questions of similar size share a group, to save padding.
        by_size = sorted(range(len(questions)), key=lambda number: _size(questions[number]))
        groups = [by_size[start : start + GROUP] for start in range(0, len(by_size), GROUP)]
        with ThreadPoolExecutor(min(self.threads, len(groups))) as pool:
            judged = pool.map(lambda group: self._run(self._own, [questions[n] for n in group]), groups)
            verdicts = {
                number: verdict for group, of_group in zip(groups, judged, strict=True)
                for number, verdict in zip(group, of_group, strict=True)
            }  # fmt: skip
        return [verdicts[number] for number in range(len(questions))]

    def _run(self, session: Any, questions: list[Question]) -> list[Verdict]:
        batch = self._encode(questions)
        try:
            judged = dict(zip(self._outputs, session.run(None, graph_inputs(batch)), strict=True))
        except Exception as error:  # the runtime's exceptions have no common base class
            raise self._misfit(error) from None
        try:
            if judged["logits"].shape != (len(questions),):
                raise ValueError(f"logits of shape {judged['logits'].shape}")
            return self._verdicts(questions, batch, judged)
        except (LookupError, TypeError, ValueError) as error:  # a stranger's graph may have other outputs or shapes
            raise self._misfit(error) from None

    def _misfit(self, error: Exception) -> InputError:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        where = None if isinstance(self._model, bytes) else self._model
        return InputError(f"its graph does not fit its model ({reason:.200})", where=where, allowed="export it again")


def graph_inputs(batch: Batch) -> dict[str, Array]:
    """Returns the inputs of an exported graph by name."""
    statement, items = batch.statement, required(batch.items)
    tensors = {
        "words": statement.words,
        "lengths": statement.lengths,
        "features": items.features,
        "counts": items.counts,
        "characters": statement.characters,
        "boxes": items.boxes,
    }
    return {name: tensor.numpy() for name, tensor in tensors.items() if tensor is not None}


def open_session(model: Path | bytes, *, threads: int) -> Any:
    """Opens an onnxruntime.InferenceSession on the CPU, from a file or its contents."""
    try:
        import onnxruntime
    except ImportError:
        install = "install it with: pip install 'veriscene[onnx]'"
        raise InputError("onnxruntime is not installed", allowed=install) from None

    if isinstance(model, Path) and not model.is_file():
        raise InputError("no such file", where=model)
    if isinstance(model, Path) and model.stat().st_size > MOST_BYTES:
        raise InputError(f"has {model.stat().st_size:,} bytes", where=model, allowed=f"at most {MOST_BYTES:,}")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # Spinning threads are a fifth faster on an idle machine and twice as slow on a busy one. OMP_WAIT_POLICY, which the
    # command line sets to PASSIVE, decides for torch's threads and for these.
    if os.environ.get("OMP_WAIT_POLICY", "").upper() == "PASSIVE":
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3  # errors only: the log goes to stderr
    try:
        source = model if isinstance(model, bytes) else str(model)
        return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's exceptions have no common base class
        what = f"damaged, or not an ONNX file ({str(error).splitlines()[0]})"
        raise InputError(what, where=model if isinstance(model, Path) else None) from None


def _read_metadata(judge: OnnxJudge, found: Mapping[str, str], where: str) -> None:
    """Sets the judge's config, encoder and order."""
    if FORMAT_KEY not in found:
        raise InputError("not a file that `veriscene export` wrote", where=where)
    if found[FORMAT_KEY] != FORMAT:
        what = f"written by another version of veriscene (format {found[FORMAT_KEY]:.20}, not {FORMAT})"
        raise InputError(what, where=where, allowed="export it again")
    try:
        config, words, world = (parse_json(found[key]) for key in ("config", "vocabulary", "world"))
        judge.order = Order(found["order"])
        judge.config = models.read_config(config, where=where)
        vocabulary = Vocabulary(tuple(words))  # type: ignore[arg-type]
        judge.encoder = models.encoder(judge.config, vocabulary, world_of(world, where=where))
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError, InputError) as error:
        raise InputError(f"damaged ({error})", where=where, allowed="export it again") from None


def _size(question: Question) -> tuple[int, int]:
    # The number of letters approximates the number of words well enough, without splitting the statement.
    return max(len(box.items) for box in required(question.scene).boxes), len(question.statement)
