"""Feature maps of whole corpora: each distinct sub-image once, in half precision, kept in a cache on disk."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import torch
from torch import Tensor

from veriscene import files
from veriscene.errors import InputError
from veriscene.models.base import evaluating
from veriscene.models.vision.networks import GRID, Backbone
from veriscene.output import Progress, Say

FORMAT = 1  # to be raised when the same network, weights and sub-images give other maps
CHUNK = 256  # maps: 105 MB of a ResNet's
CPU_BATCH = 16  # at 320 x 320 pixels, 256 images take gigabytes
LARGEST_HALF = torch.finfo(torch.float16).max
THREADS = 4  # that read or write; each holds one chunk in main memory
DIGEST_BYTES = hashlib.sha256().digest_size


def extract(backbone: Backbone, pixels: Tensor, *, progress: Progress, cache: Path | None, say: Say) -> Tensor:
    """(batch, box, 100, 100, RGB) uint8 -> (batch, box, channels, GRID, GRID) float16, on the same device.

    The backbone, on that device, runs in evaluation mode and is left as it was. On a GPU it runs in bf16. Values beyond
    the range of float16 are clamped to it, which `say` reports. With `cache` None nothing is stored.

    Raises InputError if memory or disk are too small, or if a value is NaN.
    """
    images = pixels.flatten(0, 1)
    distinct = Distinct.among(images)
    shape = (len(distinct.first), backbone.channels, GRID, GRID)
    _check_memory(pixels.device, (len(distinct.first) + len(images)) * shape[1] * GRID * GRID * torch.half.itemsize)
    maps = torch.empty(shape, dtype=torch.half, device=pixels.device)
    computed = _compute(backbone, images, distinct.first, maps, progress, say)
    if cache is None:
        for _ in computed:
            pass
    else:
        say(f"features: {len(maps):,} maps, {maps.nbytes / 1e9:,.1f} GB in {cache}")
        _read_or_write(cache / f"{_key(backbone, distinct, maps.device)}.maps", maps, computed, progress)
    features = maps[distinct.index].reshape(*pixels.shape[:2], *shape[1:])
    del maps
    if features.is_cuda:
        torch.cuda.empty_cache()  # gigabytes that other processes may need
    return features


@dataclass(frozen=True)
class Distinct:
    """The distinct ones among n sub-images, sorted by digest, so that they do not depend on the order of examples."""

    digest: bytes  # of all of them
    first: Tensor  # (distinct,): where each occurs first
    index: Tensor  # (n,): which of them each sub-image is

    @classmethod
    def among(cls, images: Tensor) -> Distinct:
        digests = [hashlib.sha256(image.data).digest() for image in images.cpu().contiguous().numpy()]
        places = {digest: place for place, digest in reversed(list(enumerate(digests)))}
        numbers = {digest: number for number, digest in enumerate(sorted(places))}
        first = torch.tensor([places[digest] for digest in numbers], dtype=torch.long, device=images.device)
        index = torch.tensor([numbers[digest] for digest in digests], dtype=torch.long, device=images.device)
        return cls(hashlib.sha256(b"".join(numbers)).digest(), first, index)


def _compute(
    backbone: Backbone, images: Tensor, first: Tensor, maps: Tensor, progress: Progress, say: Say
) -> Iterator[Tensor]:
    """Writes the maps of the images numbered `first` to `maps`; yields each chunk of it as soon as it is complete."""
    on_gpu = maps.device.type == "cuda"
    batch = CHUNK if on_gpu else CPU_BATCH
    done = 0
    clamped, undefined = torch.zeros(2, dtype=torch.long, device=maps.device)
    with evaluating(backbone):
        for chunk, numbers in zip(torch.split(maps, CHUNK), torch.split(first, CHUNK), strict=True):
            for target, part in zip(torch.split(chunk, batch), torch.split(numbers, batch), strict=True):
                with torch.inference_mode(), torch.autocast("cuda", torch.bfloat16, enabled=on_gpu):
                    values = backbone(images[part]).float()
                    clamped += (values.abs() > LARGEST_HALF).sum()
                    undefined += values.isnan().sum()
                    target.copy_(values.clamp(-LARGEST_HALF, LARGEST_HALF))
                done += len(part)
                progress(done, len(maps))
            yield chunk
    if bool(undefined):
        raise InputError(f"the backbone gives {int(undefined):,} values that are NaN", allowed="check its weights")
    if bool(clamped):
        say(f"features: {int(clamped):,} values beyond ±{LARGEST_HALF:,.0f} were clamped")


def _key(backbone: Backbone, distinct: Distinct, device: torch.device) -> str:
    """A digest of all that maps depend on. The printed form of the network has its sizes and strides."""
    precision = "bf16" if device.type == "cuda" else "fp32"
    digest = hashlib.sha256(f"{FORMAT} {precision} {backbone}".encode() + distinct.digest)
    for name, tensor in backbone.state_dict().items():
        digest.update(name.encode())
        digest.update(tensor.cpu().contiguous().numpy().data)
    return digest.hexdigest()


def _check_memory(device: torch.device, needed: int) -> None:
    if device.type == "cuda":
        unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        free = torch.cuda.mem_get_info(device)[0] + unused
    else:
        try:
            found = re.search(r"MemAvailable:\s*(\d+) kB", Path("/proc/meminfo").read_text())
        except OSError:
            return
        free = int(found[1]) << 10 if found else needed
    if needed > free:
        what = f"the features take {needed / 1e9:,.1f} GB of memory, and {free / 1e9:,.1f} GB are free on {device}"
        raise InputError(what, allowed="use a device with more memory, or fewer examples")


# ---------------------------------------------------------------- the file of maps

# It holds the maps, then the SHA-256 digest of each chunk of them. Its name determines its content.


def _read_or_write(path: Path, maps: Tensor, computed: Iterable[Tensor], progress: Progress) -> None:
    """Fills `maps` from the file; if it is missing or damaged, exhausts `computed`, and writes it.

    `computed` fills `maps`, and yields each of its chunks as soon as it is complete. Of several processes one computes
    and writes; the others wait and read. Raises InputError if the disk is too small, before anything is computed.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be created ({error.strerror})", where=path.parent) from None

    def compute(partial: Path) -> None:
        free = shutil.disk_usage(path.parent).free
        if maps.nbytes > free:
            what = f"the features need {maps.nbytes / 1e9:,.1f} GB, and {free / 1e9:,.1f} GB are free"
            raise InputError(what, where=path.parent, allowed="set VERISCENE_CACHE to a folder on a larger disk")

        def write(chunk: Tensor, number: int) -> bytes:
            content = chunk.cpu().numpy().data
            with partial.open("r+b") as file:
                file.seek(number * maps[:CHUNK].nbytes)
                file.write(content)
            return hashlib.sha256(content).digest()

        try:
            partial.touch()
            with ThreadPoolExecutor(THREADS) as pool:
                digests = b"".join(pool.map(write, computed, count()))
            with partial.open("ab") as file:
                file.write(digests)
        except OSError as error:
            raise InputError(f"cannot be written ({error.strerror})", where=path) from None

    files.cached(path, lambda file: _read(file, maps, progress), compute)


def _read(path: Path, maps: Tensor, progress: Progress) -> None:
    """Fills `maps`; raises OSError or ValueError if there is no such file or it is damaged."""
    chunks = torch.split(maps, CHUNK)
    with path.open("rb") as file:
        file.seek(maps.nbytes)
        digests = file.read(len(chunks) * DIGEST_BYTES + 1)
    if len(digests) != len(chunks) * DIGEST_BYTES:
        raise ValueError("the file has another length")

    def read(number: int) -> None:
        chunk = chunks[number]
        host = chunk if chunk.device.type == "cpu" else torch.empty_like(chunk, device="cpu")
        content = host.numpy().data
        with path.open("rb") as file:
            file.seek(number * chunks[0].nbytes)
            file.readinto(content)
        if hashlib.sha256(content).digest() != digests[number * DIGEST_BYTES : (number + 1) * DIGEST_BYTES]:
            raise ValueError("a chunk has another digest")
        chunk.copy_(host)

    with ThreadPoolExecutor(THREADS) as pool:
        for number, _ in enumerate(pool.map(read, range(len(chunks)))):
            progress(min((number + 1) * CHUNK, len(maps)), len(maps))
