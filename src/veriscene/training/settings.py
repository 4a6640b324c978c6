"""Which settings have an effect. Asking for one that has none is an error, because the user believes that it has."""

from __future__ import annotations

from collections.abc import Iterable

from veriscene import models
from veriscene.config import ModelConfig
from veriscene.errors import InputError
from veriscene.models import SYNTHETIC, has_effect


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
