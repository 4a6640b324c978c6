"""What a study searches, and on what: trials can be compared only if all of that is the same."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veriscene import files
from veriscene.config import Config, differences, from_json, load_preset
from veriscene.errors import InputError
from veriscene.experiments.tuning.space import Settings, Space, as_changes, lines_of, read_space
from veriscene.scenes import nlvr
from veriscene.training.effect import with_effect
from veriscene.training.materials import labelled


@dataclass(frozen=True)
class Search:
    preset: str
    data: Path
    changes: tuple[str, ...]  # of the preset, for all trials
    config: Config  # the preset with these changes
    space: Space
    corpus: str  # a digest of train and dev

    def configuration(self, settings: Settings) -> Config:
        return load_preset(self.preset, [*self.changes, *as_changes(settings)])

    def command(self, settings: Settings) -> str:
        """Trains the same again."""
        changes = with_effect([*self.changes, *as_changes(settings)], self.config.model, corpus_given=True)
        settings_given = [part for change in changes for part in ("--set", change)]
        return shlex.join(["veriscene", "train", self.preset, "--data", str(self.data), *settings_given])

    def to_json(self) -> dict[str, Any]:
        return {
            "preset": self.preset,
            "data": str(self.data.resolve()),
            "corpus": self.corpus,
            "config": self.config.to_json(),
            "space": lines_of(self.space),
        }


def plan_search(preset: str, *, data: Path, changes: Sequence[str], space: Sequence[str]) -> Search:
    """Reads and checks all that was asked for; InputError before anything is made."""
    config = load_preset(preset, changes)
    fixed = {change.partition("=")[0].strip() for change in changes}
    checked = read_space(space, config, fixed=fixed)
    if "training.batch" in checked and config.training.evaluate_every:
        # A score after so many steps would give small batches more scores, and so a better best one by luck alone.
        changes = [*changes, "training.evaluate_every=0"]
        config = load_preset(preset, changes)
    digest = hashlib.sha256()
    for split in ("train", "dev"):
        path = nlvr.split_file(data, split)
        labelled(nlvr.read(path), split)
        digest.update(path.read_bytes())
    return Search(preset, data, tuple(changes), config, checked, digest.hexdigest())


def check_same(record: Path, search: Search) -> None:
    """InputError if what was recorded is another search."""
    try:
        before = json.loads(files.read_text(record))
        config = from_json(before["config"], where=str(record))
        unlike = {
            f"preset {before['preset']}": before["preset"] != search.preset,
            f"another corpus than {search.data}": before["corpus"] != search.corpus,
            _first_difference(config, search.config): config != search.config,
            " ".join(f"--space {line}" for line in before["space"]): before["space"] != lines_of(search.space),
        }
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError(f"{record}: damaged; start anew in another folder with --out") from None
    for what, differs in unlike.items():
        if differs:
            raise InputError(
                f"{record.parent}: this study was started with {what};"
                " go on with the same, or name another folder with --out"
            )


def _first_difference(before: Config, now: Config) -> str:
    for key, (old, new) in differences(before, now).items():
        return f"{key}={old}, not {new}"
    return "the same settings"
