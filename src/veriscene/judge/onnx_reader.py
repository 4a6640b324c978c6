"""A reader on ONNX Runtime: one graph reads the words of statements, another writes one token after the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from veriscene import files
from veriscene.data.reader import FILE_ERRORS, Array, ProgramReader, invalid_reader, language_of, read_file
from veriscene.errors import InputError
from veriscene.judge.sessions import default_threads, open_session

State = tuple[Array, Array, Array]  # the statement as the decoder attends to it, its mask, keys and values of tokens


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
        except FILE_ERRORS as error:
            raise invalid_reader(path, error) from None
        self._encoder, self._decoder = (
            # Its products are small: a second thread for one of them takes longer, and twice the processor's time.
            open_session(graph, threads=1, weights=path)
            for graph in graphs or graphs_of(path)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return OnnxReader, (self.path, self.graphs)

    def save(self, path: Path) -> None:
        files.write_bytes(path, self.path.read_bytes())

    def begin(self, words: Array, ngrams: Array) -> State:
        config = self.config
        statement, mask = self._run(self._encoder, {"words": words, "ngrams": ngrams})
        past = np.zeros((config.layers, 2, len(words), config.heads, 0, config.dim // config.heads), np.float32)
        return statement, mask, past

    def step(self, token: Array, place: int, state: State) -> tuple[Array, State]:
        statement, mask, past = state
        given = {"token": token[:, None], "place": np.array([place]), "statement": statement, "mask": mask}
        scores, now = self._run(self._decoder, {**given, "past": past})
        if scores.shape != (len(token), self.config.tokens):
            raise self._misfit(f"scores of shape {scores.shape}")
        return scores, (statement, mask, now)

    def keep(self, state: State, rows: Array) -> State:
        statement, mask, past = state
        return statement[:, :, rows], mask[rows], past[:, :, rows]

    def _run(self, session: Any, given: dict[str, Array]) -> tuple[Array, Array]:
        try:
            one, other = session.run(None, given)
        except Exception as error:  # the runtime's exceptions have no common base class
            raise self._misfit(next(iter(str(error).splitlines()), type(error).__name__)) from None
        return one, other

    def _misfit(self, reason: str) -> InputError:
        what = f"its graphs do not fit it ({reason:.200})"
        return InputError(what, where=self.path, allowed="export them again")
