"""Settings as a user sees them: those without an effect are refused, and all of them are listed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from veriscene import models
from veriscene.config import (
    ALLOWED,
    MEANING,
    Changes,
    Config,
    DataConfig,
    ModelConfig,
    TeacherConfig,
    TrainingConfig,
    written,
)
from veriscene.errors import InputError
from veriscene.models.base import Order

SYNTHETIC = ("data.statements", "data.level", "data.corpus_seed")  # of the corpus that is made when none is given
OF_CORPUS = ("teacher.generated", "teacher.labels")  # of a teacher that is given a corpus
ALWAYS = ("model.name", "training.seed", "data.minimum_count", "data.counting")


def has_effect(model: ModelConfig, key: str, *, corpus_given: bool, taught: bool = False) -> bool:
    """Returns whether `section.key` can change what such a model becomes, on a given corpus or on a synthetic one, and
    with or without a teacher."""
    kind = models.MODELS[model.name]
    section, _, name = key.partition(".")
    if key in ALWAYS:
        return True
    if key in SYNTHETIC:
        return not corpus_given and not taught
    if key == "data.train_share":
        return not taught
    if section == "teacher":
        return (taught and (corpus_given or key not in OF_CORPUS)) or name == "statements"
    if section == "model":
        return name in {field.name for field in fields(model)}
    if key == "data.order":
        return kind.order is not Order.NONE
    if key in ("training.policy_weight", "training.entropy_weight"):
        return kind.order is Order.CHOSEN
    return not kind.is_fitted


def check_changes(changes: Changes, model: ModelConfig, *, corpus_given: bool, taught: bool = False) -> None:
    """Rejects settings that the chosen model or source would ignore."""
    for key in map(key_of, changes):
        if not has_effect(model, key, corpus_given=corpus_given, taught=taught):
            if key.startswith("teacher.") and not taught:
                allowed = "set teacher.statements, or train with --teacher FILE"
                raise InputError(f"{key} has no effect without a teacher", where=f"--set {key}", allowed=allowed)
            on = "a corpus given with --data" if key in SYNTHETIC else model.name
            if taught and key == "data.train_share":
                on = "a teacher, which makes its own examples"
            elif taught and not corpus_given and key in (*SYNTHETIC, *OF_CORPUS):
                on = "a teacher that has no corpus"
            raise InputError(f"{key} has no effect on {on}", where=f"--set {key}")


def with_effect(changes: Iterable[str], model: ModelConfig, *, corpus_given: bool, taught: bool = False) -> list[str]:
    """Returns those of the `section.key=value` changes that have an effect."""
    return [change for change in changes if has_effect(model, key_of(change), corpus_given=corpus_given, taught=taught)]


def key_of(change: str) -> str:
    """Returns the key of `section.key=value`."""
    return change.partition("=")[0].strip()


# ---------------------------------------------------------------- the list of all settings

# The meaning of settings that several models have.
COMMON = {
    "name": "The model.",
    "embedding": "Width of word vectors.",
    "hidden": "Units of the LSTMs, in each direction.",
    "item": "Width of item vectors.",
    "joint": "Width of what is made of items and words together.",
    "mlp": "Width of the layer before the verdict.",
    "dropout": "Share of units that are dropped in training.",
    "pooling": "How what is known of the boxes becomes a verdict.",
    "forget_bias": "Initial bias of the LSTMs' forget gates.",
    "coordinates": "Positions of items: of their corner, or so that -1 and 1 are the walls for items of any size.",
}


@dataclass(frozen=True)
class Setting:
    """One line of `veriscene settings`."""

    key: str
    value: str
    allowed: str
    meaning: str


def listed(config: Config) -> list[Setting]:
    """Lists every setting of a configuration, with its value."""
    sections = ("model", "data", "training", "teacher")
    return [setting for section in sections for setting in _of(section, getattr(config, section))]


def reference() -> str:
    """Writes docs/settings.md: every setting with its default, its range and its meaning."""
    parts = [
        "# Settings\n\nWritten by `veriscene settings --markdown`. A configuration is a preset or a TOML file with"
        " these sections; `--set section.key=value` changes one setting. `veriscene settings PRESET` prints the values"
        " of a preset.\n"
    ]
    for section, kind in (("training", TrainingConfig), ("data", DataConfig), ("teacher", TeacherConfig)):
        parts.append(f"## {section}\n\n{_table(_of(section, kind()))}")
    for name, model in models.MODELS.items():
        settings = [setting for setting in _of("model", model.Config(name)) if setting.key != "model.name"]
        parts.append(f'## model, with model.name = "{name}"\n\n{model.summary}\n\n{_table(settings)}')
    return "\n".join(parts)


def _of(section: str, settings: Any) -> list[Setting]:
    return [
        Setting(
            f"{section}.{field.name}",
            written(getattr(settings, field.name)),
            field.metadata.get(ALLOWED, ("text",))[0],
            field.metadata.get(MEANING) or COMMON.get(field.name, ""),
        )
        for field in fields(settings)
    ]


def _table(settings: Iterable[Setting]) -> str:
    rows = [f"| `{s.key}` | {s.value} | {s.allowed} | {s.meaning} |" for s in settings]
    return "\n".join(["| setting | default | allowed | meaning |", "| --- | --- | --- | --- |", *rows]) + "\n"
