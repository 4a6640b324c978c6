"""A search: which settings vary, over which values, and all else that makes its trials comparable."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from veriscene.config import Config
from veriscene.errors import InputError
from veriscene.lab.settings import configure
from veriscene.lab.tuning import DEFAULT_SPACE
from veriscene.lab.tuning import SPACE_FORMS as FORMS
from veriscene.models.settings import as_changes, flat, has_effect, train_command, written
from veriscene.output import Output
from veriscene.training.spec import Spec
from veriscene.training.train import open_source

Distribution = CategoricalDistribution | FloatDistribution | IntDistribution
Space = Mapping[str, Distribution]  # by section.key
FINGERPRINT, CHANGED = "corpus fingerprint", "its corpus or its programs have changed"


@dataclass(frozen=True)
class Search:
    preset: str
    data: Path
    changes: Sequence[str]  # of the preset, for all trials
    config: Config  # the preset with these changes
    space: Space
    fingerprint: int  # of the train and dev examples, or of what a teacher teaches
    programs: Sequence[Path] = ()  # files that a teacher teaches from
    digest: str | None = None  # of the files of the corpus and of programs

    @classmethod
    def plan(
        cls,
        preset: str,
        *,
        data: Path,
        changes: Sequence[str],
        space: Sequence[str],
        programs: Sequence[Path] = (),
        output: Output | None = None,
    ) -> Search:
        """Reads and checks everything the search needs; raises InputError before any file of it is written.
        `output` shows the progress of preparing what a teacher teaches, which the trials then find in the cache."""
        values = read_space(space, preset=preset, changes=changes, programs=programs)
        config = configure(preset, changes)
        if "training.batch" in values and config.training.evaluate_every:
            # Scores at a fixed number of steps would give small batches more of them, and a better best one by chance.
            changes = [*changes, "training.evaluate_every=0"]
            config = configure(preset, changes)
        spec = Spec.of(preset, data=data, changes=changes, programs=programs)
        with closing(open_source(spec, data, output=output)) as source:
            return cls(preset, data, changes, config, values, source.fingerprint, programs, spec.digest())

    def check_unchanged(self) -> None:
        """Raises InputError if a trial that starts now would see other examples than those before."""
        if self.spec(self.changes).digest() != self.digest:
            what = f"{CHANGED} during the search"
            raise InputError(what, where=self.data, allowed="restore them, or search again in another folder")

    def spec(self, changes: Sequence[str]) -> Spec:
        """The preset with these changes, on the search's data."""
        return Spec.of(self.preset, data=self.data, changes=changes, programs=self.programs)

    def changes_of(self, params: Mapping[str, Any]) -> list[str]:
        """All changes of the preset in a trial with these sampled values."""
        return [*self.changes, *as_changes(self.rounded(params))]

    def rounded(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Rounds sampled floats to three significant digits, within their ranges: short enough to type."""
        settings = dict(params)
        for key, value in params.items():
            values = self.space[key]
            if isinstance(values, FloatDistribution):
                settings[key] = min(max(float(f"{value:.3g}"), values.low), values.high)
        return settings

    def command(self, params: Mapping[str, Any]) -> str:
        """The command that trains the same model as such a trial."""
        teacher = [part for path in self.programs for part in ("--teacher", str(path))]
        return train_command(self.preset, str(self.data), self.changes_of(params), self.config, *teacher)

    def to_json(self) -> dict[str, Any]:
        """All that identifies the search, as a flat JSON object."""
        space = {f"--space {key}": describe(values) for key, values in self.space.items()}
        return {"preset": self.preset, FINGERPRINT: self.fingerprint, **flat(self.config), **space}


def read_space(lines: Sequence[str], *, preset: str, changes: Sequence[str], programs: Sequence[Path] = ()) -> Space:
    """The space given by `lines`, or else the default space without settings that are fixed or have no effect.

    Raises InputError unless every bound and every choice gives a valid configuration.
    """
    config = configure(preset, changes)
    searched = {line.partition("=")[0].strip() for line in lines}
    taught = bool(programs or config.teacher.statements or "teacher.statements" in searched)
    settings, fixed = flat(config), {change.partition("=")[0].strip() for change in changes}
    space: dict[str, Distribution] = {}
    for line in lines or DEFAULT_SPACE:
        key, _, values = (part.strip() for part in line.partition("="))
        is_idle = key in settings and not has_effect(config.model, key, corpus_given=True, taught=taught)
        if not lines and (key not in settings or key in fixed or is_idle):
            continue
        try:
            if not values or "." not in key:
                raise InputError("not a search range", allowed=f"use {FORMS}")
            if key in fixed:
                raise InputError(f"{key} is also fixed by another option", allowed="search it or fix it")
            if key in space:
                raise InputError(f"{key} is given twice", allowed="give it once")
            if is_idle:
                without = "without a teacher" if key.startswith("teacher.") else f"on {config.model.name}"
                raise InputError(f"{key} has no effect {without}")
            space[key] = _read_values(key, values, preset, changes)
        except InputError as error:
            raise error.at(f"--space {line}") from None
    if not space:
        raise InputError("every setting of the default space is fixed", where="--space", allowed=f"use {FORMS}")
    return space


def _read_values(key: str, values: str, preset: str, changes: Sequence[str]) -> Distribution:
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
    """The values as `--space` accepts them, in a canonical form."""
    if isinstance(distribution, CategoricalDistribution):
        return ",".join(map(written, distribution.choices))
    return f"{distribution.low}:{distribution.high}{':log' if distribution.log else ''}"
