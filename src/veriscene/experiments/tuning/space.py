"""The search space of `veriscene tune`: which settings are searched, and over which values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from veriscene.config import Config
from veriscene.errors import InputError

if TYPE_CHECKING:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    Distribution = CategoricalDistribution | FloatDistribution | IntDistribution

# The settings that the paper does not report and that accuracy depends on most.
DEFAULT = (
    "training.learning_rate=3e-4:4e-3:log",
    "training.batch=64,128,256,512",
    "training.label_smoothing=0:0.2",
    "training.weight_decay=1e-2:1:log",
    "training.r_drop=0,1,2,4",
    "model.dropout=0:0.6",
    "model.forget_bias=0,1",
    "model.coordinates=corner,contact",
    "model.penalty=1:100.0:log",
    "data.order=random,file,sorted",
    "data.word_dropout=0:0.2",
)
FORMS = "section.key=low:high, section.key=low:high:log or section.key=a,b,c"

Space = Mapping[str, "Distribution"]  # by section.key
Settings = dict[str, Any]  # section.key -> bool, int, float or str


def configure(preset: str, changes: Iterable[str]) -> Config:
    """Returns the preset with these changes; raises InputError unless such a model can be built and trained."""
    from veriscene import models

    config = models.load_preset(preset, changes)
    models.check(config.model)
    return config


def flat(config: Config) -> Settings:
    """Returns all settings by `section.key`."""
    return {f"{section}.{name}": v for section, values in config.to_json().items() for name, v in values.items()}


def read_space(lines: Sequence[str], *, preset: str, changes: Sequence[str]) -> Space:
    """Returns the space given by `lines`, or else the default space without settings that are fixed or have no effect.

    Raises InputError unless every bound and every choice gives a valid configuration.
    """
    from veriscene.training.settings import has_effect

    config = configure(preset, changes)
    fixed = {change.partition("=")[0].strip() for change in changes}

    def is_free(line: str) -> bool:
        key = line.partition("=")[0]
        return key in flat(config) and key not in fixed and has_effect(config.model, key, corpus_given=True)

    space: dict[str, Distribution] = {}
    for line in lines or filter(is_free, DEFAULT):
        key, _, values = (part.strip() for part in line.partition("="))
        try:
            if not values or "." not in key:
                raise InputError("not a search range", allowed=f"use {FORMS}")
            if key in fixed:
                raise InputError(f"{key} is also fixed by another option", allowed="search it or fix it")
            if key in space:
                raise InputError(f"{key} is given twice", allowed="give it once")
            if key in flat(config) and not has_effect(config.model, key, corpus_given=True):
                raise InputError(f"{key} has no effect on {config.model.name}")
            space[key] = _read_values(key, values, preset, changes)
        except InputError as error:
            raise error.at(f"--space {line}") from None
    if not space:
        raise InputError("every setting of the default space is fixed", where="--space", allowed=f"use {FORMS}")
    return space


def _read_values(key: str, values: str, preset: str, changes: Sequence[str]) -> Distribution:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    def read(text: str) -> Any:
        """Lets the configuration check the value, and convert it to its setting's type."""
        return flat(configure(preset, [*changes, f"{key}={text.strip()}"]))[key]

    if ":" not in values:
        choices = [read(text) for text in values.split(",")]
        if len(choices) < 2:
            raise InputError("only one value", allowed=f"fix it with --set, or use {FORMS}")
        return CategoricalDistribution(choices)
    (low, high), rest = (read(text) for text in values.split(":")[:2]), values.split(":")[2:]
    if type(low) not in (int, float):
        raise InputError("only numbers have a range", allowed="list the choices: section.key=a,b,c")
    if rest not in ([], ["log"]):
        raise InputError("not a search range", allowed=f"use {FORMS}")
    if not low < high:
        raise InputError(f"the lower end {low} must be below the upper end {high}")
    if rest and low <= 0:
        raise InputError(f"with log the lower end must be above 0, not {low}")
    return (IntDistribution if isinstance(low, int) else FloatDistribution)(low, high, log=bool(rest))


def describe(distribution: Distribution) -> str:
    """Returns the values as `--space` accepts them, in a canonical form."""
    from optuna.distributions import CategoricalDistribution

    if isinstance(distribution, CategoricalDistribution):
        return ",".join(map(_text, distribution.choices))
    return f"{distribution.low}:{distribution.high}{':log' if distribution.log else ''}"


def rounded(params: Mapping[str, Any], space: Space) -> Settings:
    """Rounds sampled floats to three significant digits, within their ranges: short enough to type."""
    from optuna.distributions import FloatDistribution

    settings = dict(params)
    for key, value in params.items():
        values = space[key]
        if isinstance(values, FloatDistribution):
            settings[key] = min(max(float(f"{value:.3g}"), values.low), values.high)
    return settings


def as_changes(settings: Settings) -> list[str]:
    """Returns the settings as arguments for `--set`."""
    return [f"{key}={_text(value)}" for key, value in settings.items()]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
