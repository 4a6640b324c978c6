"""What is trained, on what, and from what: a `Spec`. `spec.json` is its record in the folder of a run or of seeds."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from veriscene import __version__, files, models, worlds
from veriscene.config import Changes, Config
from veriscene.data.teacher.statements import check_files
from veriscene.errors import InputError
from veriscene.judge.folders import BEST
from veriscene.models.settings import check_changes
from veriscene.training.distributed import Machine
from veriscene.world.corpus import split_file, supervision
from veriscene.world.schema import World
from veriscene.world.world_file import to_tree, world_of

SPEC = "spec.json"
FORMAT = 3
MAX_NAME = 255  # bytes of a file's name; systems fail at longer ones
CORPUS, DEV = "corpus", "dev.json"  # in a run's folder, where none was given: the latter where a teacher needs none


@dataclass(frozen=True)
class Spec:
    """Holds everything that determines what a run becomes, on a given machine."""

    config: Config
    world: World = field(default_factory=worlds.get)  # of the corpus
    corpus: Path | None = None  # a folder with train and dev; None: a teacher needs none, and others make one
    programs: tuple[Path, ...] = ()  # files from which a teacher makes examples
    initial: str | None = None  # the model whose vocabulary and weights it starts from: a folder or a name
    preset: str = field(default="", compare=False)  # the preset or file that the configuration was read from

    @classmethod
    def of(
        cls,
        preset: str | Path,
        *,
        data: str | Path | None = None,
        changes: Changes = (),
        programs: Sequence[str | Path] = (),
        initial: str | Path | None = None,
        world: str | Path | World | None = None,
    ) -> Spec:
        """Reads a preset, or a TOML file, with changes; raises InputError for a change that would be ignored, and for
        programs that a teacher could not read.

        Paths are made absolute, so that a run can be resumed from anywhere; names of models stay names.
        """
        changes = changes if hasattr(changes, "items") else list(changes)
        config = models.load_preset(preset, changes)
        taught = bool(programs or config.teacher.statements)
        check_changes(changes, config.model, corpus_given=data is not None, taught=taught)
        chosen = worlds.of_corpus(data) if world is None and data is not None else worlds.get(world)
        if data is not None and Path(data, worlds.FILE).is_file() and worlds.of_corpus(data) != chosen:
            what = f"describes another world than {world if isinstance(world, str | Path) else chosen.name}"
            raise InputError(what, where=Path(data, worlds.FILE), allowed="leave --world out, or --data")
        paths = tuple(Path(path).resolve() for path in programs)
        check_files(paths, chosen)
        return cls(
            config=config,
            world=chosen,
            corpus=None if data is None else Path(data).resolve(),
            programs=paths,
            initial=str(Path(initial).resolve() if Path(initial).is_dir() else initial) if initial else None,
            preset=str(preset),
        )

    @property
    def is_taught(self) -> bool:
        """Returns whether a teacher makes the examples."""
        return bool(self.programs or self.config.teacher.statements)

    def for_seed(self, seed: int) -> Spec:
        """Returns the same with another seed; from a folder of seeds it starts with the model of the same seed."""
        own = Path(self.initial, f"seed{seed}") if self.initial else None
        config = replace(self.config, training=replace(self.config.training, seed=seed))
        return replace(self, config=config, initial=str(own) if own and own.is_dir() else self.initial)

    def digest(self) -> str:
        """Changes with any setting, with what a run starts from, and with the files that it reads, except pictures."""
        splits = [] if self.corpus is None else [split_file(self.corpus, split) for split in ("train", "dev")]
        settings = json.dumps([self.config.to_json(), to_tree(self.world), self.initial], sort_keys=True)
        return hashlib.sha256((settings + files.digest([*splits, *self.programs])).encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Writes what `from_json` reads."""
        return {
            "preset": self.preset,
            "config": self.config.to_json(),
            "world": to_tree(self.world),
            "corpus": self.corpus and str(self.corpus),
            "programs": [str(path) for path in self.programs],
            "initial": self.initial,
        }

    @classmethod
    def from_json(cls, tree: dict[str, Any], *, where: str) -> Spec:
        """Reads what `to_json` wrote; raises an error of almost any class if the tree is damaged."""
        return cls(
            config=models.read_config(tree["config"], where=where),
            world=world_of(tree["world"], where=where),
            corpus=None if tree["corpus"] is None else Path(_path(tree["corpus"])),
            programs=tuple(Path(_path(path)) for path in tree["programs"]),
            initial=None if tree["initial"] is None else _path(tree["initial"]),
            preset=_text(tree["preset"]),
        )


@dataclass(frozen=True)
class Record:
    """Holds what spec.json says: the spec, and the facts about how it was started."""

    spec: Spec
    digest: str  # of the spec, when it was started
    seeds: tuple[int, ...]  # of a folder of seeds; empty for a run
    supervision: str  # labels | synthetic | programs; empty for a folder of seeds
    command: str
    commit: str | None
    started: str
    machine: str
    veriscene: str

    @classmethod
    def new(cls, spec: Spec, machine: Machine, *, seeds: Sequence[int] = ()) -> Record:
        """Records what starts now."""
        return cls(
            spec=spec,
            digest=spec.digest(),
            seeds=tuple(seeds),
            supervision="",
            command=shlex.join(["veriscene", *sys.argv[1:]]),
            commit=commit(),
            started=time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            machine=str(machine),
            veriscene=__version__,
        )

    @classmethod
    def read(cls, folder: Path) -> Record:
        """Reads the record in a folder; raises InputError if it is not a run, or one of another version."""
        path = folder / SPEC
        if not path.is_file():
            raise InputError(f"not a run of `veriscene train`, {SPEC} is missing", where=folder)
        try:
            tree: dict[str, Any] = dict(files.parse_json(files.read_text(path)))  # type: ignore[call-overload]
            json.dumps(tree, ensure_ascii=False).encode()  # raises ValueError for half a character, as in a path
            if tree.pop("format") != FORMAT:
                raise InputError("started by another version of veriscene", where=path, allowed="start a new run")
            spec, seeds = Spec.from_json(tree.pop("spec"), where=str(path)), tuple(tree.pop("seeds"))
            if not all(type(seed) is int and 0 <= seed < 2**31 for seed in seeds):
                raise ValueError("a seed is a whole number")
            commit = None if (given := tree.pop("commit")) is None else _text(given)
            return cls(spec, seeds=seeds, commit=commit, **{key: _text(tree[key]) for key in tree})
        except InputError as error:
            raise InputError(error.what, where=error.where or path, allowed=error.allowed) from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise InputError("damaged", where=path, allowed="start a new run") from None

    def write(self, folder: Path) -> None:
        """Replaces the folder's record."""
        tree = {"format": FORMAT, **vars(self), "spec": self.spec.to_json()}
        files.write_text(folder / SPEC, json.dumps(tree, indent=1) + "\n", follow=False)

    def check_unchanged(self, folder: Path) -> None:
        """Raises InputError if what is trained from now on would see other examples than what was trained before."""
        if self.digest != self.spec.digest():
            data = "corpus and the programs" if self.spec.programs else "corpus"
            allowed = f"continue with the {data} it was started on"
            raise InputError("its data has changed since", where=folder, allowed=allowed)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("no text")
    return value


def _path(value: object) -> str:
    """Returns the value; raises ValueError unless it is text that the system takes for a path."""
    text = _text(value)
    if "\0" in text or max(map(len, map(os.fsencode, text.split("/")))) > MAX_NAME:
        raise ValueError("no path")
    return text


def corpus_of(folder: Path) -> Path:
    """Returns the folder with the splits that a run is trained and scored on; a teacher's run has its own dev."""
    spec = Record.read(folder).spec
    return spec.corpus or (folder if spec.is_taught else folder / CORPUS)


def scored_split(folder: Path) -> tuple[str, Path]:
    """Returns the split on which a run may be shown, and its file: test for a synthetic corpus, dev for a real one.

    The test split of a real corpus is for final figures only.
    """
    corpus = corpus_of(folder)
    split = "test" if supervision(corpus) == "synthetic" else "dev"
    return split, split_file(corpus, split)


def resume_command(folder: Path) -> str:
    """Writes the command that continues a run, whatever characters the folder's name contains."""
    return f"veriscene train --resume {shlex.quote(str(folder))}"


def new_folder_hint(folder: Path) -> str:
    """Says what a user can do if a folder for a new run already exists."""
    is_ours = any((folder / name).exists() for name in (SPEC, BEST))
    return f"{f'continue with: {resume_command(folder)}; or ' if is_ours else ''}name another folder with --out"


def fresh_folder(preset: str, what: str) -> Path:
    """Names a folder below runs/ that does not exist yet, also if another run began in the same second."""
    name = f"{Path(preset).stem}-{what}-{time.strftime('%Y%m%d-%H%M%S')}"
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(folder for each in names if not (folder := Path("runs") / each).exists())


def commit() -> str | None:
    """Returns the commit of the repository that this package runs from; None if it was installed from elsewhere."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return None
    call = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=7"]
    try:
        described = subprocess.run(call, capture_output=True, text=True, check=True, timeout=5)
    except (OSError, subprocess.SubprocessError):
        return None
    return described.stdout.strip() or None
