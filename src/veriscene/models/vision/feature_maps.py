"""Models that read pictures through a backbone, which turns each sub-image into a feature map of 10 x 10 cells.

The maps of a frozen backbone are computed once for a corpus: of each distinct sub-image once, in half precision, kept
in a cache on disk.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import update_bn

from veriscene import files
from veriscene.config import ModelConfig, choice, flag, number
from veriscene.data.batch import Batch, required
from veriscene.data.encoder import Input
from veriscene.data.vocabulary import Vocabulary
from veriscene.errors import InputError
from veriscene.models.base import Model, Order, evaluating
from veriscene.models.vision.backbone import BACKBONES, GRID, PRETRAINED, Backbone, check_weights_file, load_weights
from veriscene.output import Output, Progress, Say, counted
from veriscene.world.schema import World

NORMALIZATION = (
    "Maps of a pretrained backbone have mean 0 and deviation 1 over train: as a whole, in each channel, or in each of"
    " their 256 first principal components, which take the place of the channels."
)
STATISTICS = "Statistics of a pretrained backbone's batch norm: those in its file, or those of train pictures."
WHITENED = 256  # principal components of the channels that are kept
SMALLEST = 1e-3  # deviation: channels that never respond stay small
SAMPLE = 256  # train examples from which the statistics of pictures and maps are taken
FORMAT = 1  # to be raised when the same network, weights and sub-images give other maps
CHUNK = 256  # maps: 105 MB of a ResNet's
CPU_BATCH = 16  # at 320 x 320 pixels, 256 images take gigabytes
LARGEST_HALF = torch.finfo(torch.float16).max


@dataclass(frozen=True)
class FeatureMapConfig(ModelConfig):
    """Declares the settings that all these models share."""

    backbone: str = choice("convolutions", BACKBONES, "What makes feature maps of pictures.")
    end_to_end: bool = flag(False, "Whether a pretrained backbone is trained too; else it is frozen, as in the paper.")
    normalization: str = choice("map", ("map", "channel", "whitened"), NORMALIZATION)
    statistics: str = choice("file", ("file", "train"), STATISTICS)
    backbone_rate: float = number(0.1, 0.0, 10.0, "Learning rate of a pretrained backbone, relative to the rest.")
    # Units of the layer on the map's channels, and of convolutions on cells, add up thousands of
    # inputs, so that a step of Adam, which moves every weight by about the learning rate, takes them far.
    map_rate: float = number(0.1, 0.0001, 10.0, "Learning rate of the layer on the map's channels, relatively.")
    cell_rate: float = number(0.3, 0.0001, 10.0, "Learning rate of convolutions on cells, relatively.")


class FeatureMapModel(Model, ABC):
    """A frozen backbone is part of the weights, so that a checkpoint needs no other file."""

    inputs: ClassVar[frozenset[Input]] = frozenset({Input.PIXELS})
    order = Order.NONE

    config: FeatureMapConfig
    mean: Tensor
    deviation: Tensor
    components: Tensor | None  # (component, channel): orthonormal rows

    def __init__(self, config: FeatureMapConfig, vocabulary: Vocabulary, world: World) -> None:
        super().__init__(config, vocabulary, world)
        self.is_pretrained = config.backbone in PRETRAINED
        self.is_frozen = self.is_pretrained and not config.end_to_end
        self.backbone = BACKBONES[config.backbone]().requires_grad_(not self.is_frozen)
        of_map = self.backbone.channels
        is_whitened, is_whole = config.normalization == "whitened", config.normalization == "map"
        self.channels = min(WHITENED, of_map) if is_whitened else of_map  # of a normalized cell
        self.register_buffer("mean", torch.zeros(() if is_whole else of_map))
        self.register_buffer("deviation", torch.ones(() if is_whole else self.channels))
        self.register_buffer("components", torch.eye(self.channels, of_map) if is_whitened else None)

    def cells(self, batch: Batch) -> Tensor:
        """Returns the normalized feature maps, cells row by row: (batch, box, cell, channel)."""
        if batch.features is not None:
            # Layers round their inputs to bf16 under autocast anyway; half precision is exact enough, and faster.
            half = torch.is_autocast_enabled(self.mean.device.type)
            maps = batch.features.flatten(0, 1).to(torch.half if half else self.mean.dtype)
        else:
            maps = self.backbone(required(batch.pixels).flatten(0, 1))
        centred = cells_of(maps) - self.mean
        if self.components is not None:
            with torch.autocast(centred.device.type, enabled=False):  # small components are sums of large values
                centred = centred @ self.components.T
        normalized = centred / self.deviation
        return normalized.view(len(batch), -1, *normalized.shape[1:])

    def prepare(self, corpus: Batch) -> None:
        """Loads a pretrained backbone and takes the statistics of its maps.

        "The feature map is normalized to a mean of 0 and a standard deviation of 1" (appendix A.3.2): over all channels
        alike, so that those which say little stay small, unless the settings say otherwise.
        """
        if not self.is_pretrained:
            return
        load_weights(self.backbone, self.config.backbone)
        numbers = torch.linspace(0, len(corpus) - 1, min(SAMPLE, len(corpus))).long()
        images = required(corpus.pixels)[numbers].flatten(0, 1).to(self.mean.device)
        parts = torch.split(images, CHUNK if images.is_cuda else CPU_BATCH)
        if self.config.statistics == "train":
            update_bn(parts, self.backbone)
        with torch.inference_mode():
            self.backbone.eval()
            cells = torch.cat([cells_of(self.backbone(part)).flatten(0, 1) for part in parts])
            deviation, mean = torch.std_mean(cells, dim=0 if self.mean.dim() else None)
            if self.components is not None:
                variances, directions = torch.linalg.eigh(cells.T.double().cov())  # in ascending order
                self.components.copy_(directions.T.flip(0)[: self.channels])
                deviation = variances.flip(0)[: self.channels].clamp(min=0).sqrt()
        self.mean.copy_(mean)
        self.deviation.copy_(deviation.clamp(min=SMALLEST))
        self.train(self.training)

    def extract(self, corpus: Batch, *, store: bool = False, output: Output | None = None) -> Batch:
        if not self.is_frozen:
            return corpus
        output, cache = output or Output(), files.cache_folder() / "features" if store else None
        pixels = required(corpus.pixels)
        features = extract(self.backbone, pixels, cache=cache, say=output.say, progress=output.progress)
        return replace(corpus, pixels=None, features=features)

    def check_requirements(self) -> None:
        check_weights_file(self.config.backbone)

    def train(self, mode: bool = True) -> FeatureMapModel:
        """Leaves a frozen backbone in evaluation mode, so that it keeps its running statistics."""
        super().train(mode)
        if self.is_frozen:
            self.backbone.eval()
        return self

    @abstractmethod
    def layers_on_maps(self) -> tuple[nn.Module, nn.Module | None]:
        """Returns the layer that `map_rate` is about, and the one that `cell_rate` is about."""

    def parameter_groups(self) -> list[dict[str, Any]]:
        """Layers on feature maps decay as fast as the others, whatever their rate."""
        config = self.config
        on_maps, on_cells = ([] if layer is None else list(layer.parameters()) for layer in self.layers_on_maps())
        of_backbone = list(self.backbone.parameters())
        grouped = {*on_maps, *on_cells, *of_backbone}
        groups: list[dict[str, Any]] = [
            {"params": [parameter for parameter in self.parameters() if parameter not in grouped]},
            {"params": on_maps, "rate": config.map_rate, "decay": 1 / config.map_rate},
        ]
        if on_cells:
            groups.append({"params": on_cells, "rate": config.cell_rate, "decay": 1 / config.cell_rate})
        if not self.is_frozen:
            groups.append({"params": of_backbone, "rate": config.backbone_rate if self.is_pretrained else 1.0})
        return groups


def cells_of(maps: Tensor) -> Tensor:
    """(n, channel, row, column) -> (n, cell, channel), row by row."""
    return maps.flatten(2).transpose(1, 2)


# ---------------------------------------------------------------- maps of a corpus


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
        say(f"features: {counted(len(maps), 'map')}, {maps.nbytes / 1e9:,.1f} GB in {cache}")
        _read_or_write(cache / f"{_key(backbone, distinct, maps.device)}.maps", maps, computed, progress)
    features = maps[distinct.index].reshape(*pixels.shape[:2], *shape[1:])
    del maps
    if features.is_cuda:
        torch.cuda.empty_cache()  # gigabytes that other processes may need
    return features


@dataclass(frozen=True)
class Distinct:
    """Lists the distinct ones among n sub-images, sorted by digest, so that the order of examples does not matter."""

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
        raise InputError(f"the backbone gives NaN for {counted(int(undefined), 'value')}", allowed="check its weights")
    if bool(clamped):
        say(f"features: clamped {counted(int(clamped), 'value')} beyond ±{LARGEST_HALF:,.0f}")


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

# It holds the maps, then their SHA-256 digest. Its name determines its content.


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
        free, digest = shutil.disk_usage(path.parent).free, hashlib.sha256()
        if maps.nbytes > free:
            what = f"the features need {maps.nbytes / 1e9:,.1f} GB, and {free / 1e9:,.1f} GB are free"
            raise InputError(what, where=path.parent, allowed="set VERISCENE_CACHE to a folder on a larger disk")
        try:
            with partial.open("wb") as file:
                for chunk in computed:
                    content = chunk.cpu().numpy().data
                    digest.update(content)
                    file.write(content)
                file.write(digest.digest())
        except OSError as error:
            raise InputError(f"cannot be written ({error.strerror})", where=path) from None

    files.cached(path, lambda file: _read(file, maps, progress), compute)


def _read(path: Path, maps: Tensor, progress: Progress) -> None:
    """Fills `maps`; raises OSError or ValueError if there is no such file or it is damaged."""
    digest, done = hashlib.sha256(), 0
    with path.open("rb") as file:
        for chunk in torch.split(maps, CHUNK):
            host = chunk if chunk.device.type == "cpu" else torch.empty_like(chunk, device="cpu")
            content = host.numpy().data
            file.readinto(content)
            digest.update(content)
            chunk.copy_(host)
            done += len(chunk)
            progress(done, len(maps))
        if file.read(digest.digest_size + 1) != digest.digest():
            raise ValueError("the maps have another digest")
