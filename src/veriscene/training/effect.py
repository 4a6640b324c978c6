"""Which settings make a difference. Who asks for one believes that it does, so one that does not is an error."""

from __future__ import annotations

from collections.abc import Iterable

from veriscene import models
from veriscene.config import ModelConfig
from veriscene.errors import InputError

EMBEDDED = ("data.statements", "data.level", "data.corpus_seed")  # of the corpus that the package makes itself
ALWAYS = ("model.name", "training.seed", "data.minimum_count")  # a seed names a run, if nothing else


def has_effect(model: ModelConfig, key: str, *, corpus_given: bool) -> bool:
    """Whether `section.key` can make a difference to what such a model becomes, on a given corpus or on our own."""
    section, _, name = key.partition(".")
    if key in ALWAYS:
        return True
    if key in EMBEDDED:
        return not corpus_given
    if section == "model":
        return name in models.settings_read(model)
    if key == "data.order":
        return models.reads_in_order(models.MODELS[model.name])
    if key == "training.policy_weight":
        return models.chooses_order(models.MODELS[model.name])
    return not models.is_fitted(model)  # what is fitted has no steps


def with_effect(changes: Iterable[str], model: ModelConfig, *, corpus_given: bool) -> list[str]:
    """Those of the `section.key=value` changes that make a difference."""
    return [change for change in changes if has_effect(model, _key(change), corpus_given=corpus_given)]


def check_changes(changes: Iterable[str], model: ModelConfig, *, corpus_given: bool) -> None:
    """InputError for a change that makes none."""
    models.check(model)  # of a model's own settings it says more
    for change in changes:
        key = _key(change)
        if not has_effect(model, key, corpus_given=corpus_given):
            on = "a corpus that --data names" if key in EMBEDDED else model.name
            raise InputError(f"--set {change}: {key} has no effect on {on}")


def _key(change: str) -> str:
    return change.partition("=")[0].strip()
