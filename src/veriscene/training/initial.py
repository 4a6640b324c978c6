"""The model that a run starts from: its vocabulary and weights take the place of new ones."""

from __future__ import annotations

from pathlib import Path

from veriscene.config import ModelConfig
from veriscene.data.corpora import SUPERVISION
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.judge.checkpoint import METRICS, Checkpoint
from veriscene.models import MODELS, Model


def load_initial(name_or_folder: str | Path | None, model: ModelConfig) -> Checkpoint | None:
    """InputError if such a model cannot start from it."""
    if name_or_folder is None:
        return None
    initial = checkpoints.load(name_or_folder)
    if MODELS[model.name].is_fitted:
        what = f"{model.name} finds its weights at once, whatever it starts from"
        raise InputError(what, allowed="train it without an initial model")
    if initial.metrics.get("supervision") not in SUPERVISION:
        allowed = f'the entry "supervision" must be one of {", ".join(SUPERVISION)}'
        raise InputError("does not say how the model was trained", where=Path(name_or_folder, METRICS), allowed=allowed)
    return initial


def supervision_of_both(source: str, initial: Checkpoint | None) -> str:
    """Of a model that is trained on a source after it was trained before: the stronger one."""
    return source if initial is None else max(source, initial.metrics["supervision"], key=SUPERVISION.index)


def copy_weights(initial: Checkpoint, model: Model) -> None:
    """InputError if they do not fit."""
    try:
        model.load_state_dict(initial.model.state_dict())
    except RuntimeError:
        what = f"the weights of the initial model, a {initial.config.model.name}, do not fit"
        raise InputError(what, allowed="start from a model of the same kind and sizes") from None
