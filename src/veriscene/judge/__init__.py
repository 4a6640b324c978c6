"""Models that answer questions. Torch is imported only for models that have no ONNX graphs, and for other devices."""

from __future__ import annotations

from pathlib import Path

from veriscene.data.eyes import SHIPPED as EYES
from veriscene.data.eyes import PictureReader
from veriscene.errors import missing_package
from veriscene.judge.folders import GRAPH, find, shipped_readers, without_eyes
from veriscene.judge.judge import EyesJudge, Judge, ReaderJudge
from veriscene.judge.onnx_judge import OnnxEyes, OnnxJudge, OnnxReader, graphs_of

ONNX, READER = ".onnx", ".safetensors"  # suffixes by which exported files and readers are recognised


def load(model: str | Path, *, device: str = "cpu", eyes: bool = False) -> Judge:
    """Loads a judge: the name of a shipped checkpoint, a folder that `veriscene train` wrote, `owner/name` on the
    Hugging Face hub, an .onnx file that `veriscene export` wrote (CPU only), or a reader's .safetensors file.

    A shipped name comes before a folder of the same name; "./NAME" or a Path is the folder. With `eyes`, or if the name
    ends with -pixels, it judges what eyes see. Where there are graphs beside the weights, ONNX Runtime runs them.
    """
    plain = without_eyes(model)
    if eyes or plain != model:
        return EyesJudge(load(plain, device=device), load_eyes(device=device))
    is_on_cpu = str(device) == "cpu"
    if str(model).endswith(ONNX):
        return OnnxJudge.load(model, device=device)
    if isinstance(model, str) and model in shipped_readers():
        model = shipped_readers()[model]
    if str(model).endswith(READER) and is_on_cpu and all(graph.exists() for graph in graphs_of(Path(model))):
        return ReaderJudge(OnnxReader(Path(model)))
    folder = model if str(model).endswith(READER) else find(model)
    if is_on_cpu and (Path(folder) / GRAPH).exists():
        return OnnxJudge.load(folder)
    try:
        from veriscene.judge.checkpoint import TorchJudge, check_device, load_reader
    except ModuleNotFoundError as error:
        raise missing_package(error).at(model) from None
    check_device(device)
    if str(model).endswith(READER):
        return ReaderJudge(load_reader(Path(model), device=device))
    return TorchJudge.load(folder, device=device)


def load_eyes(*, device: str = "cpu") -> PictureReader:
    """Loads the eyes that ship with the package."""
    if str(device) == "cpu" and EYES.with_suffix(ONNX).exists():
        return OnnxEyes()
    try:
        from veriscene.models.vision.eyes import Eyes
    except ModuleNotFoundError as error:
        raise missing_package(error) from None
    return Eyes.load(device=device)
