"""A reader on ONNX Runtime: one graph reads the words of statements, another writes one token after the other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open

from veriscene import files
from veriscene.data.reader import END, PAD, START, Array, ProgramReader, ReaderConfig, invalid_reader, language_of
from veriscene.judge.sessions import default_threads, open_session

GROUP = 32  # statements that are read together; larger groups need more padding and overflow the caches


def graphs_of(path: Path) -> tuple[Path, Path]:
    """Returns where the graphs of a reader's file are, whether or not they exist."""
    return path.with_name(f"{path.stem}-encoder.onnx"), path.with_name(f"{path.stem}-decoder.onnx")


class OnnxReader(ProgramReader):
    """Reads as the reader in the same file does in torch, on the CPU."""

    def __init__(self, path: Path, graphs: Sequence[Path | bytes] = (), *, threads: int | None = None) -> None:
        """`graphs`: those of encoder and decoder; by default the files beside the reader's."""
        self.path, self.graphs, self.threads = path.absolute(), graphs, threads or default_threads()
        try:
            with safe_open(path, "np") as stored:
                about: Any = json.loads(stored.metadata()["reader"])
            language = language_of(about, path)
            super().__init__(ReaderConfig(**about["config"]), about["words"], about["tokens"], language)
        except (SafetensorError, KeyError, TypeError, ValueError, OSError) as error:
            raise invalid_reader(path, error) from None
        self._encoder, self._decoder = (
            open_session(graph, threads=self.threads, weights=path) for graph in graphs or graphs_of(path)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return OnnxReader, (self.path, self.graphs)

    def save(self, path: Path) -> None:
        files.write_bytes(path, self.path.read_bytes())

    def write(self, words: Array, ngrams: Array) -> tuple[Array, Array, Array]:
        lengths = (ngrams[..., 0] != 0).sum(1)
        tokens = np.full((len(words), self.config.max_tokens - 1), PAD)
        least, first = np.ones(len(words), np.float32), np.zeros((len(words), self.config.tokens), np.float32)
        by_length = lengths.argsort(kind="stable")
        for start in range(0, len(words), GROUP):
            rows = by_length[start : start + GROUP]
            longest = max(1, lengths[rows].max())
            self._write(rows, words[rows, :longest], ngrams[rows, :longest], tokens, least, first)
        return tokens[:, : max(1, (tokens != PAD).any(0).sum())], least, first

    def _write(self, rows: Array, words: Array, ngrams: Array, tokens: Array, least: Array, first: Array) -> None:
        """Writes what is read to the given rows of the last three arrays."""
        config = self.config
        statement, mask = self._encoder.run(None, {"words": words, "ngrams": ngrams})
        past = np.zeros((config.layers, 2, len(rows), config.heads, 0, config.dim // config.heads), np.float32)
        token = np.full((len(rows), 1), START)
        for place in range(tokens.shape[1]):
            given = {"token": token, "place": np.array([place]), "statement": statement, "mask": mask, "past": past}
            scores, past = self._decoder.run(None, given)
            tokens[rows, place] = chosen = scores.argmax(1)
            if place == 0:
                first[rows] = scores
            else:
                least[rows] = np.minimum(least[rows], np.exp(scores.max(1)))
            is_open = chosen != END
            if not is_open.any():
                break
            if not is_open.all():
                rows, chosen, mask = rows[is_open], chosen[is_open], mask[is_open]
                statement, past = statement[:, :, is_open], past[:, :, is_open]
            token = chosen[:, None]
