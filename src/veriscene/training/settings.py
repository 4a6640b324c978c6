"""Which settings have an effect. Asking for one that has none is an error, because the user believes that it has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

from veriscene import models
from veriscene.config import ModelConfig
from veriscene.errors import InputError
from veriscene.models import Order

SYNTHETIC = ("data.statements", "data.level", "data.corpus_seed")  # of the corpus that is made when none is given
ALWAYS = ("model.name", "training.seed", "data.minimum_count", "data.counting")


def has_effect(model: ModelConfig, key: str, *, corpus_given: bool, taught: bool = False) -> bool:
    """Whether `section.key` can change what such a model becomes, on a given corpus or on a synthetic one, and with or
    without a teacher."""
    kind = models.MODELS[model.name]
    section, _, name = key.partition(".")
    if key in ALWAYS:
        return True
    if key in SYNTHETIC:
        return not corpus_given
    if section == "teacher":
        return taught or name == "statements"
    if section == "model":
        return name in {field.name for field in fields(model)}
    if key == "data.order":
        return kind.order is not Order.NONE
    if key == "training.policy_weight":
        return kind.order is Order.CHOSEN
    return not kind.is_fitted


def with_effect(changes: Iterable[str], model: ModelConfig, *, corpus_given: bool, taught: bool = False) -> list[str]:
    """Those of the `section.key=value` changes that have an effect."""
    return [change for change in changes if has_effect(model, _key(change), corpus_given=corpus_given, taught=taught)]


def check_changes(changes: Iterable[str], model: ModelConfig, *, corpus_given: bool, taught: bool = False) -> None:
    """Raises InputError for a change without effect."""
    models.check(model)
    for change in changes:
        key = _key(change)
        if not has_effect(model, key, corpus_given=corpus_given, taught=taught):
            where = f"--set {change}"
            if key.startswith("teacher.") and not taught:
                allowed = "set teacher.statements, or train with --teacher FILE"
                raise InputError(f"{key} has no effect without a teacher", where=where, allowed=allowed)
            on = "a corpus given with --data" if key in SYNTHETIC else model.name
            raise InputError(f"{key} has no effect on {on}", where=where)


def _key(change: str) -> str:
    return change.partition("=")[0].strip()
