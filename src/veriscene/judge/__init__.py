"""Models that answer questions."""

from __future__ import annotations

from pathlib import Path

from veriscene.judge.checkpoint import shipped_checkpoints, shipped_readers
from veriscene.judge.judge import PIXELS, EyesJudge, Judge, ReaderJudge, TorchJudge
from veriscene.models.vision.eyes import Eyes

ONNX, READER = ".onnx", ".safetensors"  # suffixes by which exported files and readers are recognised


def load(model: str | Path, *, device: str = "cpu", eyes: bool = False) -> Judge:
    """Loads a judge: the name of a shipped checkpoint, a folder that `veriscene train` wrote, `owner/name` on the
    Hugging Face hub, an .onnx file that `veriscene export` wrote (CPU only), or a reader's .safetensors file.

    A shipped name comes before a folder of the same name; "./NAME" or a Path is the folder. With `eyes`, or if the name
    ends with -pixels, it judges what eyes see.
    """
    plain = str(model).removesuffix(PIXELS)
    has_eyes = plain != str(model) and (plain in shipped_checkpoints() or not Path(model).exists())
    if eyes or has_eyes:
        return EyesJudge(load(plain if has_eyes else model, device=device), Eyes.load(device=device))
    if str(model).endswith(ONNX):
        from veriscene.judge.onnx_judge import OnnxJudge

        return OnnxJudge.load(model, device=device)
    if str(model).endswith(READER) or (str(model) in shipped_readers() and not isinstance(model, Path)):
        return ReaderJudge.load(shipped_readers().get(str(model), model), device=device)
    return TorchJudge.load(model, device=device)
