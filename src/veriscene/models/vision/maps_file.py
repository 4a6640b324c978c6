"""A large tensor in a file: written in parallel while it is computed, read in parallel, and checked.

The file holds the tensor's bytes, then the SHA-256 digest of each chunk of CHUNK rows. Its name is up to the caller,
and must determine the content: processes that need the same file share one.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
from torch import Tensor

from veriscene import files
from veriscene.errors import InputError

CHUNK = 256  # rows: 105 MB of ResNet maps
THREADS = 4  # each holds one chunk in main memory
DIGEST_BYTES = hashlib.sha256().digest_size


def chunks(tensor: Tensor) -> tuple[Tensor, ...]:
    return torch.split(tensor, CHUNK)


def read_or_write(path: Path, maps: Tensor, computed: Iterable[Tensor], progress: Callable[[int, int], None]) -> None:
    """Fills `maps` from the file; if it is missing or damaged, exhausts `computed`, and writes it.

    `computed` fills `maps`, and yields each of its chunks as soon as it is complete.

    Of several processes one computes and writes; the others wait and read. Raises InputError if the disk is too small,
    before anything is computed. `progress` counts rows.
    """
    folder = path.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be created ({error.strerror})", where=folder) from None

    def compute(partial: Path) -> None:
        """Writes each chunk as soon as it comes."""
        free = shutil.disk_usage(folder).free
        if maps.nbytes > free:
            what = f"the features need {maps.nbytes / 1e9:,.1f} GB, and {free / 1e9:,.1f} GB are free"
            raise InputError(what, where=folder, allowed="set VERISCENE_CACHE to a folder on a larger disk")
        try:
            partial.touch()
            with ThreadPoolExecutor(THREADS) as pool:
                tasks = []
                offset = 0
                for chunk in computed:
                    tasks.append(pool.submit(_write_chunk, partial, chunk, offset))
                    offset += chunk.nbytes
                digests = [task.result() for task in tasks]
            with partial.open("ab") as file:
                file.write(b"".join(digests))
        except OSError as error:
            raise InputError(f"cannot be written ({error.strerror})", where=path) from None

    files.cached(path, lambda file: _read(file, maps, progress), compute)


def _write_chunk(path: Path, chunk: Tensor, offset: int) -> bytes:
    content = chunk.cpu().numpy().data
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(content)
    return hashlib.sha256(content).digest()


def _read(path: Path, maps: Tensor, progress: Callable[[int, int], None]) -> None:
    """Fills `maps`; raises OSError or ValueError if there is no such file or it is damaged."""
    parts = chunks(maps)
    with path.open("rb") as file:
        file.seek(maps.nbytes)
        digests = file.read(len(parts) * DIGEST_BYTES + 1)
    if len(digests) != len(parts) * DIGEST_BYTES:
        raise ValueError("the file has another length")
    with ThreadPoolExecutor(THREADS) as pool:
        offsets = [number * parts[0].nbytes for number in range(len(parts))]
        tasks = [pool.submit(_read_chunk, path, *place) for place in zip(parts, offsets, strict=True)]
        for number, task in enumerate(tasks):
            if task.result() != digests[number * DIGEST_BYTES : (number + 1) * DIGEST_BYTES]:
                pool.shutdown(cancel_futures=True)
                raise ValueError("a chunk has another digest")
            progress(min((number + 1) * CHUNK, len(maps)), len(maps))


def _read_chunk(path: Path, chunk: Tensor, offset: int) -> bytes:
    host = chunk if chunk.device.type == "cpu" else torch.empty_like(chunk, device="cpu")
    content = host.numpy().data
    with path.open("rb") as file:
        file.seek(offset)
        file.readinto(content)
    if host is not chunk:
        chunk.copy_(host)
    return hashlib.sha256(content).digest()
