"""What a run is made of: frozen dataclasses, TOML presets, and `--set a.b=c`. Unknown keys are errors."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from importlib import resources
from typing import Any, get_type_hints

from veriscene.errors import InputError


@dataclass(frozen=True)
class ModelConfig:
    """Sizes as in appendix A.3.1."""

    name: str = "biatt-pointer"
    embedding: int = 128
    hidden: int = 256
    item: int = 64
    joint: int = 512
    mlp: int = 512
    dropout: float = 0.3
    pooling: str = "max"
    forget_bias: float = 0.0  # with which LSTMs begin
    coordinates: str = "corner"  # corner | centre | walls (-1 at one, 1 at the other) | contact (a gap beside them)
    penalty: float = 1.0  # of maxent: how much large weights cost


@dataclass(frozen=True)
class DataConfig:
    order: str = "random"  # in which items are read where no pointer chooses: random | file | sorted
    minimum_count: int = 3  # words that occur less often in the different statements become UNK
    recolor: bool = False  # each epoch the colours change places, in scene and statement
    mirror: bool = False  # each epoch half of the scenes are mirrored, unless left or right is spoken of
    jitter: float = 0.0  # each epoch items move by so many pixels (standard deviation), but not off a wall
    word_dropout: float = 0.0  # each epoch this share of words becomes UNK
    statements: int = 4000  # of the embedded corpus, when no folder is named
    level: str = "full"  # of the embedded corpus: simple | full
    corpus_seed: int = 1  # of the embedded corpus


@dataclass(frozen=True)
class TrainingConfig:
    seed: int = 1
    batch: int = 64
    epochs: int = 100
    window: int = 8  # batches among which statements of like length are put together; 1: none
    learning_rate: float = 1e-4
    warmup: int = 0  # steps over which the learning rate rises from zero; then it is fixed
    cooldown: float = 0.0  # the share of the run, at its end, over which the learning rate falls to zero
    weight_decay: float = 0.0  # what a weight loses at each step, as a share of the learning rate times itself
    label_smoothing: float = 0.0  # labels become this much less certain
    agreement: float = 0.0  # how much it costs if two readings of an example differ; 0: it is read once
    sharpness: float = 0.0  # how far up the slope the gradient is taken; 0: where the weights are
    policy_weight: float = 1.0  # of the policy gradient beside the cross entropy's
    average: float = 0.0  # weights scored and kept are a moving average, which keeps this share at each step
    clip: float = 5.0  # the gradient's largest norm
    precision: str = "tf32"  # of products on a GPU: tf32 | bf16 (then also of what goes from one to the next)
    patience: int = 20  # dev scores without a better one before it stops
    evaluate_every: int = 0  # steps between dev scores; 0: once an epoch
    minutes: float = 0.0  # stop after so long; 0: no limit
    threads: int = 0  # of a CPU; 0: as many as torch likes. A small model is faster with one


@dataclass(frozen=True)
class Config:
    model: ModelConfig = field(default_factory=ModelConfig)
    data: DataConfig = field(default_factory=DataConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def presets() -> dict[str, str]:
    """The presets that ship with the package, name -> TOML text."""
    folder = resources.files("veriscene") / "presets"
    files = (file for file in folder.iterdir() if file.name.endswith(".toml"))
    return {file.name.removesuffix(".toml"): file.read_text(encoding="utf-8") for file in files}


def load_preset(name: str, changes: Iterable[str] = ()) -> Config:
    """The preset of that name with `section.key=value` changes on top."""
    known = presets()
    if name not in known:
        raise InputError(f"unknown preset {name!r}; choose from {', '.join(sorted(known))}")
    tree = tomllib.loads(known[name])
    for change in changes:
        _apply(tree, change)
    return from_json(tree, where=f"preset {name}")


def from_json(tree: object, *, where: str) -> Config:
    """A configuration out of nested mappings; errors name the key, its value and what is allowed."""
    config: Config = _build(Config, tree, where, "")
    _check_ranges(config, where)
    return config


def differences(one: Config, other: Config) -> dict[str, tuple[Any, Any]]:
    """The settings in which they differ: `section.key` -> the value of each."""
    before, after = one.to_json(), other.to_json()
    return {
        f"{section}.{key}": (value, after[section][key])
        for section, values in before.items()
        for key, value in values.items()
        if value != after[section][key]
    }


def _apply(tree: dict[str, Any], change: str) -> None:
    path, equals, text = change.partition("=")
    section, dot, key = path.strip().partition(".")
    if not equals or not dot or not key:
        raise InputError(f"--set {change}: write it as section.key=value, for example training.batch=128")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()  # a bare word, as people type it: data.order=file
    tree.setdefault(section, {})
    if isinstance(tree[section], dict):
        tree[section][key] = value


def _build(kind: type[Any], tree: object, where: str, prefix: str) -> Any:
    if not isinstance(tree, Mapping):
        raise InputError(f"{where}: {prefix.rstrip('.') or 'the configuration'} must be a table of keys and values")
    hints = get_type_hints(kind)
    names = [f.name for f in fields(kind)]
    values: dict[str, Any] = {}
    for key, value in tree.items():
        if key not in names:
            raise InputError(f"{where}: unknown key {prefix}{key}; choose from {', '.join(prefix + n for n in names)}")
        expected = hints[key]
        if is_dataclass(expected) and isinstance(expected, type):
            values[key] = _build(expected, value, where, f"{prefix}{key}.")
        else:
            values[key] = _typed(expected, value, where, prefix + key)
    return kind(**values)


def _typed(expected: type, value: object, where: str, key: str) -> object:
    if expected is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not expected:
        kinds = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
        raise InputError(f"{where}: {key}={value!r} must be {kinds[expected]}")
    return value


SIZES = ("embedding", "hidden", "item", "joint", "mlp")  # of a model

# The least and the most that makes sense; the most also keeps a slip of the finger from taking all memory.
_RANGES: dict[str, dict[str, tuple[int, int]]] = {
    "model": dict.fromkeys(SIZES, (1, 16_384)),  # together they must make sense too: models/size.py
    "data": {"minimum_count": (1, 10**6), "statements": (10, 10**6), "corpus_seed": (0, 2**31)},
    "training": {
        "seed": (0, 2**31),
        "batch": (1, 10**6),
        "window": (1, 10**6),
        "epochs": (1, 10**6),
        "patience": (1, 10**6),
        "warmup": (0, 10**9),
        "evaluate_every": (0, 10**9),
        "minutes": (0, 10**6),
        "threads": (0, 256),
    },
}

_SHARES = (("model", "dropout"), ("data", "word_dropout"), ("training", "label_smoothing"), ("training", "average"))


def _check_ranges(config: Config, where: str) -> None:
    def demand(holds: bool, section: str, key: str, allowed: str) -> None:
        if not holds:
            value = getattr(getattr(config, section), key)
            raise InputError(f"{where}: {section}.{key}={value!r} must be {allowed}")

    for section, ranges in _RANGES.items():
        for key, (least, most) in ranges.items():
            value = getattr(getattr(config, section), key)
            demand(least <= value <= most, section, key, f"from {least:,} to {most:,}")
    for section, key in _SHARES:
        demand(0 <= getattr(getattr(config, section), key) < 1, section, key, "at least 0 and below 1")
    demand(1e-6 <= config.model.penalty <= 1e6, "model", "penalty", "from 1e-6 to 1e6")
    demand(-10 <= config.model.forget_bias <= 10, "model", "forget_bias", "from -10 to 10")
    demand(0 <= config.data.jitter <= 50, "data", "jitter", "from 0 to 50")
    demand(0 <= config.training.weight_decay <= 100, "training", "weight_decay", "from 0 to 100")
    demand(config.data.order in ("random", "file", "sorted"), "data", "order", "random, file or sorted")
    demand(config.training.precision in ("tf32", "bf16"), "training", "precision", "tf32 or bf16")
    demand(config.data.level in ("simple", "full"), "data", "level", "simple or full")
    demand(0 < config.training.learning_rate < 1, "training", "learning_rate", "above 0 and below 1")
    demand(0 <= config.training.agreement <= 100, "training", "agreement", "from 0 to 100")
    demand(0 <= config.training.sharpness <= 10, "training", "sharpness", "from 0 to 10")
    demand(0 <= config.training.policy_weight <= 100, "training", "policy_weight", "from 0 to 100")
    demand(config.training.clip > 0, "training", "clip", "above 0")
    demand(0 <= config.training.cooldown <= 1, "training", "cooldown", "between 0 and 1")
