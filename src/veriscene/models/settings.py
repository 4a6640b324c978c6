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
OF_CORPUS = ("teacher.generated",)  # of a teacher that is given a corpus
ALWAYS = ("model.name", "training.seed", "data.minimum_count", "data.counting")


def without_effect(model: ModelConfig, key: str, *, corpus_given: bool, taught: bool = False) -> str | None:
    """Returns what makes `section.key` change nothing: such a model, a given corpus or its absence, or a teacher or its
    absence. None: the setting has an effect."""
    kind = models.MODELS[model.name]
    section, _, name = key.partition(".")
    teacher_alone = "on a teacher that has no corpus"
    if key in ALWAYS or key == "teacher.statements":
        return None
    if key in SYNTHETIC:
        return "on a corpus given with --data" if corpus_given else teacher_alone if taught else None
    if key == "data.train_share":
        return "on a teacher, which makes its own examples" if taught else None
    if section == "teacher":
        missing = teacher_alone if key in OF_CORPUS and not corpus_given else None
        return missing if taught else "without a teacher"
    if section == "model":
        is_read = name in {field.name for field in fields(model)}
    elif key == "data.order":
        is_read = kind.order is not Order.NONE
    elif key in ("training.policy_weight", "training.entropy_weight"):
        is_read = kind.order is Order.CHOSEN
    else:
        is_read = not kind.is_fitted
    return None if is_read else f"on {model.name}"


def check_changes(changes: Changes, model: ModelConfig, *, corpus_given: bool, taught: bool = False) -> None:
    """Rejects settings that the chosen model or source would ignore."""
    for key in map(key_of, changes):
        if why := without_effect(model, key, corpus_given=corpus_given, taught=taught):
            allowed = "set teacher.statements, or train with --teacher FILE" if why == "without a teacher" else None
            raise InputError(f"{key} has no effect {why}", where=f"--set {key}", allowed=allowed)


def with_effect(changes: Iterable[str], model: ModelConfig, *, taught: bool) -> list[str]:
    """Returns those of the `section.key=value` changes that have an effect on a given corpus."""
    return [each for each in changes if without_effect(model, key_of(each), corpus_given=True, taught=taught) is None]


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
