"""Which settings `veriscene tune` tries: `section.key=low:high`, `section.key=low:high:log`, `section.key=a,b,c`."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from veriscene.config import Config, from_json
from veriscene.errors import InputError

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

# What is searched if nobody says otherwise: the settings on which the paper is silent and on which accuracy hangs.
DEFAULT = (
    "training.learning_rate=3e-4:4e-3:log",
    "training.batch=64,128,256,512",
    "training.label_smoothing=0:0.2",
    "training.weight_decay=1e-2:1:log",
    "training.agreement=0,1,2,4",
    "model.dropout=0:0.6",
    "model.forget_bias=0,1",
    "model.coordinates=corner,centre,walls,contact",
    "model.penalty=1:100.0:log",
    "data.order=random,file,sorted",
    "data.word_dropout=0:0.2",
    "data.jitter=0:5",
)
FORMS = "section.key=low:high, section.key=low:high:log or section.key=a,b,c"

Value = bool | int | float | str


@dataclass(frozen=True)
class Range:
    """All numbers from `low` to `high`, both included: whole ones if these two are. `log`: evenly in the logarithm."""

    low: int | float
    high: int | float
    log: bool

    def __str__(self) -> str:
        return f"{self.low}:{self.high}{':log' if self.log else ''}"

    @property
    def ends(self) -> tuple[Value, ...]:
        return self.low, self.high

    def distribution(self) -> BaseDistribution:
        from optuna.distributions import FloatDistribution, IntDistribution

        if isinstance(self.low, int) and isinstance(self.high, int):
            return IntDistribution(self.low, self.high, log=self.log)
        return FloatDistribution(self.low, self.high, log=self.log)

    def setting(self, sampled: Any) -> Value:
        """Three digits are what a person wants to type again; more make no difference."""
        if isinstance(self.low, int):
            return int(sampled)
        return min(max(float(f"{sampled:.3g}"), self.low), self.high)


@dataclass(frozen=True)
class Choice:
    ends: tuple[Value, ...]

    def __str__(self) -> str:
        return ",".join(_text(value) for value in self.ends)

    def distribution(self) -> BaseDistribution:
        from optuna.distributions import CategoricalDistribution

        return CategoricalDistribution(self.ends)

    def setting(self, sampled: Any) -> Value:
        value: Value = sampled
        return value


Space = dict[str, Range | Choice]
Settings = dict[str, Value]


def read_space(lines: Sequence[str], config: Config, *, fixed: Collection[str]) -> Space:
    """The space that the lines describe; without lines the default one, less what is fixed or the model does not read.

    InputError unless every end and every choice makes a sound configuration.
    """
    from veriscene import models
    from veriscene.training.effect import has_effect

    models.check(config.model)
    space: Space = {}
    for line in lines or _default_lines(config, fixed):
        key, equals, values = (part.strip() for part in line.partition("="))
        where = f"--space {line}"
        if not equals or not values:
            raise InputError(f"{where}: write it as {FORMS}")
        if key in fixed:
            raise InputError(f"{where}: {key} is fixed by another option; search it or fix it, not both")
        if key in space:
            raise InputError(f"{where}: {key} is given twice; give it once")
        space[key] = _read_values(values, type(_present(config, key, where)), where)
        if not has_effect(config.model, key, corpus_given=True):
            raise InputError(f"{where}: {key} has no effect on {config.model.name}")
        _check_ends(space[key], config, key, where)
    if not space:
        raise InputError(f"every setting of the default space is fixed; name others with --space {FORMS}")
    return space


def as_changes(settings: Settings) -> list[str]:
    """What `--set` takes."""
    return [f"{key}={_text(value)}" for key, value in settings.items()]


def lines_of(space: Space) -> list[str]:
    """What `read_space` reads, in an order that does not depend on how the space was given."""
    return [f"{key}={space[key]}" for key in sorted(space)]


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _default_lines(config: Config, fixed: Collection[str]) -> Iterator[str]:
    from veriscene.training.effect import has_effect

    for line in DEFAULT:
        key = line.partition("=")[0]
        if key not in fixed and has_effect(config.model, key, corpus_given=True):
            yield line


def _present(config: Config, key: str, where: str) -> Value:
    section, _, name = key.partition(".")
    tree: dict[str, dict[str, Value]] = config.to_json()
    if name not in tree.get(section, {}):
        from_json({section: {name: 0}}, where=where)  # says what there is
    return tree[section][name]


def _read_values(values: str, kind: type, where: str) -> Range | Choice:
    if ":" in values:
        return _read_range(values, kind, where)
    choices = tuple(_read_value(value.strip(), kind, where) for value in values.split(","))
    if len(choices) < 2:
        raise InputError(f"{where}: one value is no choice; fix it with --set, or write {FORMS}")
    return Choice(choices)


def _read_range(values: str, kind: type, where: str) -> Range:
    low_text, high_text, *rest = values.split(":")
    if kind not in (int, float):
        raise InputError(f"{where}: a range is for numbers; write the choices as section.key=a,b,c")
    if rest not in ([], ["log"]):
        raise InputError(f"{where}: write it as {FORMS}")
    low, high = (_read_value(end.strip(), kind, where) for end in (low_text, high_text))
    assert isinstance(low, int | float) and isinstance(high, int | float)
    if not low < high:
        raise InputError(f"{where}: the lower end {low} must be below the upper end {high}")
    if rest and low <= 0:
        raise InputError(f"{where}: with log the lower end must be above 0, not {low}")
    return Range(low, high, log=bool(rest))


_READERS: dict[type, tuple[Callable[[str], Value], str]] = {
    bool: (lambda value: {"true": True, "false": False}[value], "true or false"),
    int: (int, "a whole number"),
    float: (float, "a number"),
    str: (str, "text"),
}


def _read_value(value: str, kind: type, where: str) -> Value:
    read, name = _READERS[kind]
    try:
        result = read(value)
    except (ValueError, KeyError):
        raise InputError(f"{where}: {value!r} must be {name}") from None
    if isinstance(result, float) and not math.isfinite(result):
        raise InputError(f"{where}: {value!r} must be a finite number")
    return result


def _check_ends(values: Range | Choice, config: Config, key: str, where: str) -> None:
    section, _, name = key.partition(".")
    for value in values.ends:
        tree = config.to_json()
        tree[section][name] = value
        changed = from_json(tree, where=where)
        if section == "model":
            from veriscene import models

            try:
                models.check(changed.model)
            except InputError as error:
                raise InputError(f"{where}: {error}") from None
