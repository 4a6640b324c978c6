"""Models that answer questions, for people and programs."""

from __future__ import annotations

from pathlib import Path

from veriscene.serving.judge import Judge, TorchJudge
from veriscene.training import checkpoint as checkpoints

ONNX = ".onnx"


def load(model: str | Path, *, device: str = "cpu") -> Judge:
    """A judge: the name of a shipped checkpoint, a folder that `veriscene train` wrote, or an .onnx file that `veriscene
    export` wrote (CPU only)."""
    if str(model).endswith(ONNX):
        from veriscene.serving.onnx.judge import OnnxJudge

        return OnnxJudge.load(model, device=device)
    return TorchJudge(checkpoints.load(model, device=device))
