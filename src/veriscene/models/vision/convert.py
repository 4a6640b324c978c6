"""Public ImageNet weights -> weights files of our backbones."""

from __future__ import annotations

import hashlib
import logging
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from veriscene import files
from veriscene.errors import InputError
from veriscene.models.vision import tfjs
from veriscene.models.vision.backbone import BACKBONES, fill, read_weights, save_weights, weights_path
from veriscene.models.vision.base import Backbone
from veriscene.models.vision.resnet_v1 import ResNetV1

HUB = "resnetv2-101"  # the source to name instead of a file
HUB_REPOSITORY, HUB_FILE = "timm/resnetv2_101.a1h_in1k", "model.safetensors"
KERAS, TIMM = "resnet50-imagenet", "resnetv2-101-imagenet"
FORMATS = {".tgz": KERAS, ".safetensors": TIMM, ".bin": TIMM, ".pth": TIMM}

# Names of a layer's tensors, ours -> Keras's.
CONVOLUTION = {"weight": "kernel", "bias": "bias"}
NORM = {"weight": "gamma", "bias": "beta", "running_mean": "moving_mean", "running_var": "moving_variance"}
CLASSIFIER = ("fc1000/kernel", "fc1000/bias")

Progress = Callable[[int, int], None]  # bytes read, bytes in total


@dataclass(frozen=True)
class Converted:
    name: str  # of the backbone
    path: Path  # of its weights file
    sha256: str  # of the source; also in the weights file's metadata


def convert(source: str, *, out: Path | None = None, progress: Progress) -> Converted:
    """Writes a weights file (at `weights_path` unless `out` is given) from a downloaded file, or from the hub (HUB).

    The file's suffix tells what it is: .tgz the npm package of Keras's ResNet-50, others timm's ResNet-V2-101.
    """
    path = download() if source == HUB else Path(source)
    name = FORMATS.get(path.suffix)
    if name is None:
        allowed = f"give a file that ends in {', '.join(FORMATS)}, or {HUB} to download that one"
        raise InputError("not a file with weights of a backbone", where=path, allowed=allowed)
    backbone = BACKBONES[name]()
    fill_from(path, backbone, progress=progress)
    with path.open("rb") as stream:
        sha256 = hashlib.file_digest(stream, "sha256").hexdigest()
    target = out or weights_path(name)
    save_weights(backbone, target, metadata={"backbone": name, "source": path.name, "sha256": sha256})
    return Converted(name, target, sha256)


def fill_from(path: Path, backbone: Backbone, *, progress: Progress) -> None:
    """Fills a backbone from a public file. Every tensor must be known and fit; those of the classifier are left out."""
    try:
        if isinstance(backbone, ResNetV1):
            fill(backbone, from_keras(tfjs.read(path, progress=progress), backbone))
        else:
            weights = read_weights(path) if path.suffix == ".safetensors" else _read_torch(path)
            fill(backbone, {name: tensor for name, tensor in weights.items() if not name.startswith("head.")})
    except InputError as error:
        raise (error if error.where is not None else error.at(path)) from None


def from_keras(tensors: Mapping[str, Tensor], network: ResNetV1) -> dict[str, Tensor]:
    """Keras's tensors under our names and in our layout; InputError unless each is used exactly once."""
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
    expected = {*names.values(), *CLASSIFIER}
    for problem, wrong in (("is missing", expected - tensors.keys()), ("is unknown", tensors.keys() - expected)):
        if wrong:
            raise InputError(f"does not fit: {min(wrong)} {problem}")
    kernel, bias = (tensors[name] for name in CLASSIFIER)
    if kernel.shape != (network.channels, *bias.shape) or not bool(kernel.isfinite().all() and bias.isfinite().all()):
        raise InputError("does not fit: the classifier does not read the last feature map")

    def ours(tensor: Tensor) -> Tensor:
        return tensor.permute(3, 2, 0, 1) if tensor.ndim == 4 else tensor  # (height, width, in, out) -> (out, in, …)

    return {own: ours(tensors[keras]) for own, keras in names.items()}


def download() -> Path:
    """timm's weights from the Hugging Face hub, kept in its own cache; InputError without library or network."""
    by_hand = f"or get {HUB_FILE} of https://huggingface.co/{HUB_REPOSITORY} and give that file"
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.errors import HfHubHTTPError
    except ImportError:
        what = "downloading needs huggingface_hub, which is not installed"
        raise InputError(what, allowed=f"`pip install huggingface_hub`, {by_hand}") from None
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # it announces each retry
    try:
        return Path(hf_hub_download(HUB_REPOSITORY, HUB_FILE))
    except (HfHubHTTPError, OSError) as error:
        what = f"cannot be downloaded ({' '.join(str(error).split()).split('. ')[0]})"
        raise InputError(what, where=HUB_REPOSITORY, allowed=f"retry with a network, {by_hand}") from None


def _read_torch(path: Path) -> dict[str, Tensor]:
    with files.opened(path) as stream:
        try:
            weights = torch.load(stream, map_location="cpu", weights_only=True)
        except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError) as error:
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise InputError(f"damaged, or not weights alone ({reason:.80})", where=path) from None
    if not isinstance(weights, Mapping) or not all(isinstance(tensor, Tensor) for tensor in weights.values()):
        raise InputError("holds something else than tensors by name", where=path)
    return dict(weights)
