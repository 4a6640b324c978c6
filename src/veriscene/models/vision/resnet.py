"""ResNet V1 (He et al. 2016), layer for layer Keras's `ResNet50`, so that its ImageNet weights fit.

A sub-image of 100 x 100 pixels is resized to 10 times the stride. At stride 32, as published, it has 320 x 320 pixels.
At stride 16 it has 160 x 160, and the last stage keeps its resolution and dilates its 3 x 3 convolutions instead:
a quarter of the work before that stage, with the same weights and the same field of view in pixels of the image.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import interpolate, max_pool2d

from veriscene.models.vision.base import Backbone, check_grid, initialize

MEAN_BGR = (103.939, 116.779, 123.68)  # of ImageNet, in 0..255; Keras's "caffe" preprocessing does not scale
EPSILON = 1e-3  # of Keras's batch norm
EXPANSION = 4  # a block's output has this many times the channels of its 3 x 3 convolution


class ResNetV1(Backbone):
    mean: Tensor

    def __init__(self, *, size: int, stride: int, depths: Sequence[int] = (3, 4, 6, 3), width: int = 64) -> None:
        """`size` of the resized sub-image, `stride` 32 or 16, `depths` in blocks per stage, `width` of the stem."""
        super().__init__()
        check_grid(size, stride)
        if stride not in (16, 32):
            raise ValueError(f"stride is {stride}; it must be 16 or 32")
        self.size = size
        self.conv1 = nn.Conv2d(3, width, kernel_size=7, stride=2, padding=3)
        self.norm1 = nn.BatchNorm2d(width, eps=EPSILON)
        self.stages = nn.Sequential()
        channels = width
        for number, depth in enumerate(depths):
            is_dilated = stride == 16 and number == len(depths) - 1
            first_stride = 1 if number == 0 or is_dilated else 2
            blocks = nn.Sequential()
            for block in range(depth):
                strides, dilation = first_stride if block == 0 else 1, 2 if is_dilated else 1
                blocks.append(Bottleneck(inputs=channels, width=width << number, stride=strides, dilation=dilation))
                channels = (width << number) * EXPANSION
            self.stages.append(blocks)
        self.channels = channels
        self.register_buffer("mean", torch.tensor(MEAN_BGR).view(3, 1, 1), persistent=False)
        initialize(self)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, pixels: Tensor) -> Tensor:
        return self.encode(self.prepare(pixels))

    def prepare(self, pixels: Tensor) -> Tensor:
        """(n, height, width, RGB) uint8 -> (n, BGR, size, size), float, with the mean subtracted."""
        images = pixels.flip(-1).permute(0, 3, 1, 2).to(self.mean.dtype)
        return interpolate(images, size=(self.size, self.size), mode="bilinear", antialias=False) - self.mean

    def encode(self, images: Tensor) -> Tensor:
        """(n, BGR, height, width) -> (n, channels, height / stride, width / stride)."""
        hidden = self.norm1(self.conv1(images)).relu()
        # Keras pads with zeros. So does this: after ReLU, no value is below the padding of max_pool2d or of Keras.
        maps: Tensor = self.stages(max_pool2d(hidden, kernel_size=3, stride=2, padding=1))
        return maps

    def extra_repr(self) -> str:
        return f"size={self.size}"


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


# ---------------------------------------------------------------- resnet v2

# ResNet V2 (He et al. 2016, "Identity mappings"), with the names and layers of timm's `resnetv2_101`. Of timm's
# variants it is the one with batch norm, plain convolutions without bias and a 7 x 7 stem, for which ImageNet weights
# are public (`resnetv2_101.a1h_in1k`). Unlike the paper's, its blocks have the stride in the 3 x 3 convolution. A
# sub-image of 100 x 100 pixels is resized to 320 x 320; the map has stride 32.

STRIDE = 32
HALF_RANGE = 127.5  # pixels are scaled to -1..1: timm's mean and deviation are 0.5 of white


class ResNetV2(Backbone):
    def __init__(self, *, size: int, depths: Sequence[int] = (3, 4, 23, 3), width: int = 64) -> None:
        """`size` of the resized sub-image, `depths` in blocks per stage, `width` of the stem."""
        super().__init__()
        check_grid(size, STRIDE)
        self.size = size
        stem = nn.Conv2d(3, width, kernel_size=7, stride=2, padding=3, bias=False)
        self.stem = nn.Sequential(OrderedDict(conv=stem, pool=nn.MaxPool2d(kernel_size=3, stride=2, padding=1)))
        self.stages = nn.Sequential()
        channels = width
        for number, depth in enumerate(depths):
            blocks = nn.Sequential()
            for block in range(depth):
                stride = 2 if number > 0 and block == 0 else 1
                blocks.append(PreActivationBottleneck(inputs=channels, width=width << number, stride=stride))
                channels = (width << number) * EXPANSION
            self.stages.append(nn.Sequential(OrderedDict(blocks=blocks)))
        self.norm = nn.BatchNorm2d(channels)
        self.channels = channels
        initialize(self)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, pixels: Tensor) -> Tensor:
        return self.encode(self.prepare(pixels))

    def prepare(self, pixels: Tensor) -> Tensor:
        """(n, height, width, RGB) uint8 -> (n, RGB, size, size), float, about -1..1: bicubic overshoots at edges."""
        images = pixels.permute(0, 3, 1, 2).float() / HALF_RANGE - 1
        return interpolate(images, size=(self.size, self.size), mode="bicubic", antialias=False)

    def encode(self, images: Tensor) -> Tensor:
        """(n, RGB, height, width) -> (n, channels, height / 32, width / 32): timm's `forward_features`."""
        maps: Tensor = self.norm(self.stages(self.stem(images))).relu()
        return maps

    def extra_repr(self) -> str:
        return f"size={self.size}"


class PreActivationBottleneck(nn.Module):
    """1 x 1, 3 x 3 and 1 x 1 convolutions, each after batch norm and ReLU, beside a shortcut.

    The first block of a stage has a convolution in the shortcut, which reads the activated input; all others have none.
    """

    def __init__(self, *, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        outputs = width * EXPANSION
        self.norm1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, width, kernel_size=1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, kernel_size=3, stride=stride, padding=1, bias=False)
        self.norm3 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, outputs, kernel_size=1, bias=False)
        self.downsample = None
        if inputs != outputs:
            projection = nn.Conv2d(inputs, outputs, kernel_size=1, stride=stride, bias=False)
            self.downsample = nn.Sequential(OrderedDict(conv=projection))

    def forward(self, maps: Tensor) -> Tensor:
        active = self.norm1(maps).relu()
        shortcut = maps if self.downsample is None else self.downsample(active)
        hidden = self.norm2(self.conv1(active)).relu()
        hidden = self.norm3(self.conv2(hidden)).relu()
        result: Tensor = self.conv3(hidden) + shortcut
        return result
