"""A large tensor in a file: written in parallel while it is computed, read in parallel, and checked.

The file holds the tensor's bytes, then the SHA-256 digest of each chunk of CHUNK rows. Its name is up to the caller,
and must determine the content: processes that need the same file share one.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from veriscene import files
from veriscene.errors import InputError
from veriscene.models.vision.base import GRID, Backbone

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


# ---------------------------------------------------------------- features

# Feature maps of whole corpora: each distinct sub-image once, in half precision, kept in a cache on disk.

FORMAT = 1  # to be raised when the same network, weights and sub-images give other maps
CPU_BATCH = 16  # at 320 x 320 pixels, 256 images take gigabytes
LARGEST_HALF = torch.finfo(torch.float16).max

Progress = Callable[[int, int], None]  # distinct sub-images done, in total


def default_cache() -> Path:
    return files.cache_folder() / "features"


def extract(
    backbone: Backbone, pixels: Tensor, *, progress: Progress, cache: Path | None, say: Callable[[str], None]
) -> Tensor:
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
        read_or_write(cache / f"{_key(backbone, distinct, maps.device)}.maps", maps, computed, progress)
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
    backbone: Backbone, images: Tensor, first: Tensor, maps: Tensor, progress: Progress, say: Callable[[str], None]
) -> Iterator[Tensor]:
    """Writes the maps of the images numbered `first` to `maps`; yields each chunk of it as soon as it is complete."""
    on_gpu = maps.device.type == "cuda"
    batch = CHUNK if on_gpu else CPU_BATCH
    done = 0
    clamped, undefined = torch.zeros(2, dtype=torch.long, device=maps.device)
    was_training = backbone.training
    backbone.eval()
    try:
        for chunk, numbers in zip(chunks(maps), chunks(first), strict=True):
            for target, part in zip(torch.split(chunk, batch), torch.split(numbers, batch), strict=True):
                with torch.inference_mode(), torch.autocast("cuda", torch.bfloat16, enabled=on_gpu):
                    values = backbone(images[part]).float()
                    clamped += (values.abs() > LARGEST_HALF).sum()
                    undefined += values.isnan().sum()
                    target.copy_(values.clamp(-LARGEST_HALF, LARGEST_HALF))
                done += len(part)
                progress(done, len(maps))
            yield chunk
    finally:
        backbone.train(was_training)
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
