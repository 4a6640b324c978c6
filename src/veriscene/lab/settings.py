"""Settings of experiments: a preset with changes, and the command that trains with them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from veriscene import models
from veriscene.config import Config
from veriscene.training.settings import with_effect


def configure(preset: str, changes: Iterable[str]) -> Config:
    """The preset with these changes; raises InputError unless such a model can be built and trained."""
    config = models.load_preset(preset, changes)
    models.check(config.model)
    return config


def flat(config: Config) -> dict[str, Any]:
    """All settings by `section.key`."""
    return {f"{section}.{name}": v for section, values in config.to_json().items() for name, v in values.items()}


def as_changes(settings: Mapping[str, Any]) -> list[str]:
    """The settings as arguments for `--set`."""
    return [f"{key}={written(value)}" for key, value in settings.items()]


def written(value: Any) -> str:
    """A setting's value as options and presets have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def train_command(preset: str, data: str, changes: Iterable[str], config: Config, *options: str) -> str:
    """The command that trains with these changes, except for those without effect, which it would refuse."""
    taught = bool(config.teacher.statements or "--teacher" in options)
    kept = with_effect(changes, config.model, corpus_given=True, taught=taught)
    settings = [part for change in kept for part in ("--set", change)]
    return shlex.join(["veriscene", "train", preset, "--data", data, *options, *settings])
