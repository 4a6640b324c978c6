"""Graphs in ONNX Runtime, and the safetensors files that hold their weights. Does not import torch."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from veriscene import files
from veriscene.data.reader import Array
from veriscene.errors import InputError, first_line

MAX_HEADER = 100 << 20  # bytes; the format allows no more
WEIGHTS_KEY = "weights"  # in a graph's metadata: the digest of its weights' header
PACKAGE = Path(__file__).parents[1]
# A process that opens a graph: some damaged ones make the runtime itself crash, with the process that it works in.
TRIAL = """
import os, sys, onnxruntime
model, *weights = sys.argv[1:]
options = onnxruntime.SessionOptions()
for path in weights:
    with open(path, "rb") as file:
        content = file.read()
    options.add_external_initializers_from_files_in_memory([os.path.basename(path)], [content], [len(content)])
source = model or sys.stdin.buffer.read()
onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"], enable_fallback=0)
"""
TRIAL_SECONDS = 120.0
_tried = set[str]()  # digests of graphs that this process knows to be harmless


def default_threads() -> int:
    """Returns OMP_NUM_THREADS, if it is set, else the number of cores that this process may use."""
    asked = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    if asked.isdigit() and int(asked):
        return int(asked)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Graph:
    """Runs an ONNX graph in ONNX Runtime, on the CPU. Unpickling opens it again."""

    def __init__(self, model: Path | bytes, *, threads: int, weights: Path | None = None, is_own: bool = False) -> None:
        """`model` is a file or its contents; `weights` the safetensors file that it refers to. InputError if the graph
        belongs to another one. One that neither ships with the package nor, as `is_own` says, was made by the caller is
        opened in another process first."""
        self.model, self.threads, self.weights = model, threads, weights
        self.session = _opened(model, threads, weights, is_own=is_own)

    def __reduce__(self) -> tuple[Any, ...]:
        model = self.model.absolute() if isinstance(self.model, Path) else self.model
        weights = self.weights and self.weights.absolute()
        return partial(Graph, threads=self.threads, weights=weights), (model,)

    def run(self, given: dict[str, Array], outputs: Sequence[str] | None = None) -> list[Array]:
        """Returns the outputs of these names, or all; raises InputError if the inputs do not fit the graph."""
        try:
            found: list[Array] = self.session.run(outputs, given)
        except Exception as error:  # the runtime's exceptions have no common base class
            raise self.misfit(error) from None
        return found

    def misfit(self, error: Exception) -> InputError:
        """Returns the error of a stranger's graph, which has other inputs, outputs or shapes than its model."""
        where = self.model if isinstance(self.model, Path) else None
        return InputError(
            f"its graph does not fit its model ({first_line(error):.200})", where=where, allowed="export it again"
        )


def _opened(model: Path | bytes, threads: int, weights: Path | None, *, is_own: bool) -> Any:
    """Returns an onnxruntime.InferenceSession."""
    import onnxruntime

    if isinstance(model, Path):
        if not model.is_file():
            raise InputError("no such file", where=model)
        files.check_size(model)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    # Spinning threads are a fifth faster on an idle machine and twice as slow on a busy one. OMP_WAIT_POLICY, which the
    # command line sets to PASSIVE, decides for torch's threads and for these.
    if os.environ.get("OMP_WAIT_POLICY", "").upper() == "PASSIVE":
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 4  # nothing: errors are raised, and a stranger's names have no place on a terminal
    if not is_own and not (isinstance(model, Path) and model.resolve().is_relative_to(PACKAGE)):
        try_opening(model, weights)
    digest = None
    if weights is not None:
        digest = weights_header(weights)[1]
        # Not by path, which ONNX Runtime refuses where the two files are links to different folders, as in the hub's
        # cache.
        content = weights.read_bytes()
        options.add_external_initializers_from_files_in_memory([weights.name], [content], [len(content)])
    where = model if isinstance(model, Path) else None
    try:
        source = model if isinstance(model, bytes) else str(model)
        # With a fallback, to the same provider, it would print its errors.
        only = ["CPUExecutionProvider"]
        session = onnxruntime.InferenceSession(source, options, providers=only, enable_fallback=0)
    except Exception as error:  # the runtime's exceptions have no common base class
        raise InputError(f"damaged, or not an ONNX file ({first_line(error)})", where=where) from None
    if digest is not None and session.get_modelmeta().custom_metadata_map.get(WEIGHTS_KEY) != digest:
        raise InputError(f"does not belong to {weights}", where=where, allowed="export it again")
    return session


def try_opening(model: Path | bytes, weights: Path | None) -> None:
    """Raises InputError if opening the graph ends the process that does so; other errors are found later."""
    digest = files.digest([model]) if isinstance(model, Path) else hashlib.sha256(model).hexdigest()
    if digest in _tried:
        return
    where = model if isinstance(model, Path) else None
    # -P: no module is imported from the working folder.
    command = [
        sys.executable,
        "-P",
        "-c",
        TRIAL,
        "" if where is None else str(where),
        *map(str, filter(None, [weights])),
    ]
    content = b"" if isinstance(model, Path) else model
    with suppress(OSError):  # no other process can be started here
        try:
            done = subprocess.run(command, input=content, capture_output=True, timeout=TRIAL_SECONDS)
        except subprocess.TimeoutExpired:
            raise InputError("takes too long to open", where=where, allowed="export it again") from None
        if done.returncode < 0 or done.returncode >= 0xC0000000:  # a signal, or a fault on Windows
            what = "damaged: ONNX Runtime crashes when it opens it"
            raise InputError(what, where=where, allowed="export it again")
    _tried.add(digest)


def weights_header(path: Path) -> tuple[dict[str, Any], str]:
    """Returns what a safetensors file says of its tensors, with offsets from the beginning of the file, and a digest of
    its header, which differs if anything but the weights' values does."""
    with files.opened(path) as stream:
        size = int.from_bytes(stream.read(8), "little")
        text = stream.read(min(size, MAX_HEADER))
    try:
        header = json.loads(text)
        header.pop("__metadata__", None)
        for tensor in header.values():
            tensor["data_offsets"] = [8 + size + at for at in tensor["data_offsets"]]
    except (ValueError, TypeError, KeyError, AttributeError):
        raise InputError("damaged", where=path, allowed="save or copy it again") from None
    return header, hashlib.sha256(text).hexdigest()
