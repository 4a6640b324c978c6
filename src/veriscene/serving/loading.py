"""One way to a judge, whatever it is made of."""

from __future__ import annotations

from pathlib import Path

from veriscene.serving.judge import Judge
from veriscene.serving.onnx.judge import SUFFIX, OnnxJudge, load_onnx
from veriscene.training import checkpoint as checkpoints


def load(model: str | Path) -> Judge | OnnxJudge:
    """A judge: of a checkpoint that ships with the package, by name; of a folder that `veriscene train` wrote; or of an
    .onnx file that `veriscene export` wrote."""
    if str(model).endswith(SUFFIX):
        return load_onnx(model)
    return Judge(checkpoints.load(model))
