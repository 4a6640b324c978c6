"""The settings of a run: frozen dataclasses, presets and other TOML files, and `--set section.key=value`.

Every setting has its default, its allowed values and its meaning in one place, where it is declared (`veriscene
settings` prints them). A model declares its own. Unknown keys are errors.
"""

from __future__ import annotations

import difflib
import shlex
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from veriscene import files
from veriscene.errors import InputError

Value = TypeVar("Value", int, float)
Changes = Mapping[str, Any] | Iterable[str]  # {"training.epochs": 1}, or ["training.epochs=1"]
ALLOWED, MEANING = "allowed", "meaning"  # in a field's metadata: (text for the user, predicate), and one line of text


FORM = "write section.key=value, for example training.batch=128"


def number(default: Value, least: float, most: float, meaning: str = "") -> Value:
    """Declares a setting from `least` to `most`; the upper limit also keeps a typing error from using up all memory."""
    return _setting(default, f"from {least:,} to {most:,}", lambda value: least <= value <= most, meaning)


def share(default: float, meaning: str = "") -> float:
    """Declares a setting of at least 0 and below 1."""
    return _setting(default, "at least 0 and below 1", lambda value: 0 <= value < 1, meaning)


def choice(default: str, choices: Iterable[str], meaning: str = "") -> str:
    """Declares a setting that is one of these names."""
    names = tuple(choices)
    return _setting(default, f"one of {', '.join(names)}", lambda value: value in names, meaning)


def size(default: int, meaning: str = "") -> int:
    """Declares the width of a layer."""
    return number(default, 1, 16_384, meaning)


def flag(default: bool, meaning: str = "") -> bool:
    """Declares a setting that is true or false."""
    return _setting(default, "true or false", lambda value: True, meaning)


Default = TypeVar("Default")


def _setting(default: Default, text: str, accepts: Callable[[Any], bool], meaning: str) -> Default:
    result: Default = field(default=default, metadata={ALLOWED: (text, accepts), MEANING: meaning})
    return result


@dataclass(frozen=True)
class ModelConfig:
    """Is the base of every model's own settings; `name` is the model's name in the registry."""

    name: str


LEVELS = ("simple", "full")  # of the grammar
ORDER = (
    'The order in which items are read, and in which a pointer network first sees them. "random" is redrawn in every '
    "epoch; in inference it is a fixed order that depends only on what the box holds."
)

COUNTING = (
    "Where words are counted: in distinct statements, or in all examples, where a statement counts once for each scene."
)
TRAIN_SHARE = (
    "Share of the train statements that are learned from, in whole directories, which training.seed chooses. A smaller "
    "share is part of a larger one."
)


@dataclass(frozen=True)
class DataConfig:
    """Says how examples are read. The last three settings are those of the corpus that is made when none is given."""

    order: str = choice("random", ("random", "file", "sorted"), ORDER)
    minimum_count: int = number(3, 1, 10**6, "Words that occur fewer times become UNK.")
    counting: str = choice("statements", ("statements", "examples"), COUNTING)
    word_dropout: float = share(0.0, "Share of words that become UNK, redrawn in every epoch.")
    typing_noise: float = share(0.0, "Share of words that get a typing error, redrawn in every epoch.")
    train_share: float = number(1.0, 0.001, 1.0, TRAIN_SHARE)
    statements: int = number(4000, 10, 10**6, "Statements of the synthetic corpus that is made when none is given.")
    level: str = choice("full", LEVELS, "Grammar of the synthetic corpus.")
    corpus_seed: int = number(1, 0, 2**31, "Seed of the synthetic corpus.")


@dataclass(frozen=True)
class TeacherConfig:
    """Settings of a teacher, which is used if program files are given or `statements` is not 0. Without a corpus it
    makes all scenes itself, and dev consists of statements that it does not teach."""

    statements: int = number(0, 0, 10**6, "Statements drawn from the grammar. 0: none.")
    level: str = choice("full", LEVELS, "Grammar of these statements, in worlds that have a dialect of their own.")
    plain: float = number(0.0, 0.0, 1.0, "Share of them in plain English instead; without a dialect all are.")
    seed: int = number(1, 0, 2**31, "Seed of statements and scenes, whatever training.seed is.")
    # Many scenes in few epochs are made faster than few scenes in many: most of the work is done once per statement.
    scenes: int = number(192, 2, 10_000, "Scenes in an epoch for each statement of a program file.")
    grammar_scenes: int = number(96, 2, 10_000, "Scenes in an epoch for each statement of the grammar.")
    near_misses: float = number(0.34, 0.0, 1.0, "Share of examples that come in pairs, one edit apart.")
    generated: float = number(0.25, 0.0, 1.0, "Share of scenes that are drawn anew; the others are the corpus's.")
    workers: int = number(0, 0, 1024, "Processes that make examples. 0: one for each core but one.")


@dataclass(frozen=True)
class TrainingConfig:
    """Says how a model is trained."""

    seed: int = number(1, 0, 2**31, "Seed of weights, example order, dropout and sampling.")
    batch: int = number(64, 1, 10**6, "Examples in a step, over all processes.")
    epochs: int = number(100, 1, 10**6, "Passes over the examples.")
    window: int = number(8, 1, 10**6, "Batches within which statements are grouped by length. 1: no grouping.")
    optimizer: str = choice("adamw", ("adamw", "muon"), "muon moves matrices by their orthogonalised momentum.")
    learning_rate: float = number(1e-4, 1e-9, 1.0, "Step size of the optimizer.")
    warmup: int = number(0, 0, 10**9, "Steps of linear warm-up; then the learning rate is constant.")
    cooldown: float = number(0.0, 0.0, 1.0, "Final share of the run over which the learning rate falls to zero.")
    weight_decay: float = number(0.0, 0.0, 100.0, "Decoupled weight decay, as in AdamW.")
    label_smoothing: float = share(0.0, "How far labels are moved towards one half.")
    r_drop: float = number(0.0, 0.0, 100.0, "Weight of the divergence of two passes (R-Drop). 0: one pass.")
    policy_weight: float = number(1.0, 0.0, 100.0, "Weight of the policy gradient next to the cross entropy's.")
    entropy_weight: float = number(0.0, 0.0, 100.0, "Weight of the entropy of a pointer's choices, which is rewarded.")
    ema: float = share(0.0, "Decay of the moving average of the weights, which is scored and kept. 0: none.")
    clip: float = number(5.0, 1e-6, 1e6, "Maximum norm of the gradient.")
    precision: str = choice("tf32", ("tf32", "bf16"), "Matrix products on a GPU. bf16: autocast.")
    patience: int = number(20, 1, 10**6, "Dev scores without improvement before training stops.")
    evaluate_every: int = number(0, 0, 10**9, "Steps between dev scores. 0: once an epoch.")
    minutes: float = number(0.0, 0.0, 10.0**6, "Time limit, without waiting for a teacher. 0: none.")
    threads: int = number(0, 0, 256, "CPU threads. 0: torch's default. Small models are faster with one.")


@dataclass(frozen=True)
class ReaderTraining:
    """How a reader is trained. Settings with a meaning are options of `veriscene train-reader`."""

    epochs: int = number(10, 1, 10**6, "Each draws new statements.")
    statements: int = number(100_000, 500, 10**7, "Drawn in each epoch.")
    steps: int = number(1_200, 1, 10**6, "Of each epoch.")
    batch: int = number(512, 1, 10**6, "Statements per step.")
    dim: int = _setting(
        256, "a multiple of 8, up to 1,024", lambda value: value in range(8, 1025, 8), "Size of the network's vectors."
    )
    layers: int = number(4, 1, 12, "Of the encoder and of the decoder.")
    learning_rate: float = number(1.2e-3, 0.0, 1.0, "At its highest.")
    dialect: float = number(0.25, 0.0, 0.9, "Share of statements in the dialect of the world's corpus, if any.")
    seed: int = number(0, 0, 2**31, "Seed of weights and statements.")
    workers: int = number(0, 0, 256, "Processes that draw statements. 0: one for each core.")
    outside: float = 0.04  # share of texts that are not about a scene
    programs: float = 0.06  # share of lessons that come from program files, if there are any
    examples: float = 0.25  # share of lessons that come from files of plain English, if there are any
    word_dropout: float = 0.08  # share of words of which only the letters are read


@dataclass(frozen=True)
class Config:
    model: ModelConfig
    data: DataConfig = field(default_factory=DataConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    teacher: TeacherConfig = field(default_factory=TeacherConfig)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


ModelConfigs = Mapping[str, type[ModelConfig]]  # by model name


def flat(config: Config) -> dict[str, Any]:
    """Returns all settings by `section.key`."""
    return {f"{section}.{name}": v for section, values in config.to_json().items() for name, v in values.items()}


def changes_between(usual: Config, config: Config) -> list[str]:
    """Returns what `--set` must say to turn `usual` into `config`, in the order of the settings."""
    before = flat(usual)
    return [f"{key}={written(value)}" for key, value in flat(config).items() if before.get(key) != value]


def written(value: Any) -> str:
    """Writes a setting's value as `--set` and presets have it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def train_command(preset: str, changes: Iterable[str], *, data: str, options: Iterable[str] = ()) -> str:
    """Writes the command that trains the preset with these `section.key=value` changes."""
    settings = [part for change in changes for part in ("--set", change)]
    return shlex.join(["veriscene", "train", preset, "--data", data, *options, *settings])


def presets() -> dict[str, str]:
    """Returns the presets that ship with the package, name -> TOML text."""
    folder = resources.files("veriscene") / "presets"
    files = (file for file in folder.iterdir() if file.name.endswith(".toml"))
    return {file.name.removesuffix(".toml"): file.read_text(encoding="utf-8") for file in files}


def load_preset(name: str | Path, changes: Changes, kinds: ModelConfigs) -> Config:
    """Returns the preset of that name, or of the TOML file at that path, with `section.key` changes applied."""
    known = presets()
    if str(name) in known:
        where, text = f"preset {name}", known[str(name)]
    elif Path(name).suffix == ".toml" or Path(name).is_file():
        where, text = str(name), files.read_text(Path(name))
    else:
        near = difflib.get_close_matches(str(name), known, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        allowed = f"{hint}choose from {', '.join(sorted(known))}, or give the path of a TOML file"
        raise InputError(f"unknown preset {str(name)!r}", allowed=allowed)
    try:
        tree = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"not TOML ({str(error).partition(chr(10))[0]})", where=where) from None
    for change in changes.items() if isinstance(changes, Mapping) else map(parse_change, changes):
        apply_change(tree, *change)
    return from_json(tree, where=where, kinds=kinds)


def from_json(tree: object, *, where: str, kinds: ModelConfigs) -> Config:
    """Makes a configuration from nested mappings; errors name the key, its value and what is allowed."""
    sections = _mapping(tree, where, "the configuration")
    known = {f.name for f in fields(Config)}
    for key in sections:
        if key not in known:
            raise InputError(f"unknown section {key}", where=where, allowed=f"choose from {', '.join(sorted(known))}")
    model = _mapping(sections.get("model", {}), where, "model")
    name = model.get("name")
    kind = kinds.get(name) if isinstance(name, str) else None
    if kind is None:
        allowed = f"choose from {', '.join(sorted(kinds))}, or add a plug-in's with --plugin MODULE"
        raise InputError(f"unknown model {name!r:.60}", where=where, allowed=allowed)
    return Config(
        model=read(kind, model, where=where, prefix="model."),
        data=read(DataConfig, sections.get("data", {}), where=where, prefix="data."),
        training=read(TrainingConfig, sections.get("training", {}), where=where, prefix="training."),
        teacher=read(TeacherConfig, sections.get("teacher", {}), where=where, prefix="teacher."),
    )


Section = TypeVar("Section")


def read(kind: type[Section], tree: object, *, where: str, prefix: str) -> Section:
    """Reads a dataclass of settings from a mapping; raises InputError for unknown keys, wrong types or values."""
    hints = get_type_hints(kind)
    declared = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    for key, value in _mapping(tree, where, prefix.rstrip(".")).items():
        if key not in declared:
            names = ", ".join(prefix + name for name in declared)
            raise InputError(f"unknown setting {prefix}{key}", where=where, allowed=f"choose from {names}")
        values[key] = _typed(hints[key], value, where, prefix + key)
        text, accepts = declared[key].metadata.get(ALLOWED, ("", lambda _: True))
        if not accepts(values[key]):
            raise InputError(f"{prefix}{key}={value!r:.60} must be {text}", where=where)
    return kind(**values)


def parse_change(change: str) -> tuple[str, Any]:
    """Returns the key and the value of `section.key=value`."""
    key, equals, text = change.partition("=")
    if not equals:
        raise InputError("not a setting", where=f"--set {change}", allowed=FORM)
    try:
        return key.strip(), tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):  # ValueError: not TOML, or a number with thousands of digits
        return key.strip(), text.strip()  # a bare word: data.order=file


def apply_change(tree: dict[str, Any], path: str, value: Any) -> None:
    """Sets `section.key` in the tree of a configuration; raises InputError if `path` has another form."""
    section, dot, key = path.partition(".")
    if not dot or not key:
        raise InputError("not a setting", where=f"--set {path}={value}", allowed=FORM)
    tree.setdefault(section, {})
    if isinstance(tree[section], dict):
        tree[section][key] = value


def _mapping(tree: object, where: str, what: str) -> Mapping[str, Any]:
    if not isinstance(tree, Mapping):
        raise InputError(f"{what} must be a table of keys and values", where=where)
    return tree


def _typed(expected: type, value: object, where: str, key: str) -> object:
    if expected is float and type(value) is int and abs(value) < 10**300:  # larger ones do not fit a float
        return float(value)
    if type(value) is not expected:
        kinds = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
        raise InputError(f"{key}={value!r:.60} must be {kinds[expected]}", where=where)
    return value
