"""Reads a Keras model that was converted for TensorFlow.js out of an npm package, without unpacking it."""

from __future__ import annotations

import math
import tarfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import torch
from torch import Tensor

from veriscene import files
from veriscene.errors import InputError

MANIFEST = "model.json"
MOST_MEMBERS = 1000
MOST_MEMBER_BYTES = 8 << 20  # shards have 4 MB
MOST_BYTES = 256 << 20  # of all members
ITEM_BYTES = 4  # float32


def read(path: Path, *, progress: Callable[[int, int], None]) -> dict[str, Tensor]:
    """The tensors of the package's model by Keras's names; every byte of its shards belongs to exactly one.

    Raises InputError if the package is damaged, holds no such model, or is larger than ResNets are. `progress` counts
    bytes of the file.
    """
    members = _members(path, progress)
    manifests = [name for name in members if name.name == MANIFEST]
    if len(manifests) != 1:
        raise InputError(f"holds {len(manifests)} files {MANIFEST}", where=path, allowed="it must hold one")
    try:
        model = files.parse_json(members[manifests[0]].decode("utf-8", errors="replace"))
        tensors: dict[str, Tensor] = {}
        for group in _field(_field({"model": model}, "model", dict), "weightsManifest", list):
            for name, tensor in _group(group, manifests[0].parent, members).items():
                if name in tensors:
                    raise InputError(f"{name} occurs twice")
                tensors[name] = tensor
    except InputError as error:
        raise error.at(f"{path}: {manifests[0]}") from None
    return tensors


def _members(path: Path, progress: Callable[[int, int], None]) -> dict[PurePosixPath, bytes]:
    """The regular files of a .tgz, in bounded memory."""
    members: dict[PurePosixPath, bytes] = {}
    total = 0
    with files.opened(path) as stream:
        size = path.stat().st_size
        try:
            with tarfile.open(fileobj=stream, mode="r|gz") as package:
                for member in package:
                    total += member.size
                    if len(members) >= MOST_MEMBERS or member.size > MOST_MEMBER_BYTES or total > MOST_BYTES:
                        raise InputError(f"holds more than the package of a ResNet does ({member.name})", where=path)
                    content = package.extractfile(member) if member.isfile() else None
                    if content is not None:
                        members[PurePosixPath(member.name)] = content.read()
                    progress(stream.tell(), size)
        except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
            raise InputError(f"damaged, or not a .tgz file ({error})", where=path, allowed="get it again") from None
    return members


def _group(
    group: Mapping[str, Any], folder: PurePosixPath, members: Mapping[PurePosixPath, bytes]
) -> dict[str, Tensor]:
    """The tensors of one group of shards, which follow one another without gaps."""
    shards = [folder / str(name) for name in _field(group, "paths", list)]
    missing = [shard.name for shard in shards if shard not in members]
    if missing:
        raise InputError(f"{missing[0]} is missing")
    content = bytearray().join(members[shard] for shard in shards)
    tensors: dict[str, Tensor] = {}
    start = 0
    for weight in _field(group, "weights", list):
        name, shape = _field(weight, "name", str), _field(weight, "shape", list)
        if weight.get("dtype") != "float32" or "quantization" in weight:
            raise InputError(f"{name} is not of type float32")
        if not all(type(extent) is int and extent > 0 for extent in shape):
            raise InputError(f"{name} has shape {shape!r:.60}")
        count = math.prod(shape)
        if start + count * ITEM_BYTES > len(content) or name in tensors:
            raise InputError(f"{name} {'occurs twice' if name in tensors else 'is cut off'}")
        values = np.frombuffer(content, "<f4", count, start).reshape(shape)
        tensors[name] = torch.from_numpy(values)
        start += count * ITEM_BYTES
    if start != len(content):
        raise InputError(f"{len(content) - start:,} bytes belong to no tensor")
    return tensors


def _field(record: object, key: str, kind: type) -> Any:
    value = record.get(key) if isinstance(record, Mapping) else None
    if not isinstance(value, kind):
        raise InputError(f"{key} is missing or wrong", allowed="it must be a layers model of TensorFlow.js")
    return value
