"""run.json: how a run was started, and everything needed to start or resume it in the same way."""

from __future__ import annotations

import json
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator

from veriscene import files, models
from veriscene.config import Config
from veriscene.errors import InputError

RUN = "run.json"
FORMAT = 2


@dataclass(frozen=True)
class Record:
    """What run.json says."""

    preset: str
    config: Config
    data: Path | None  # the corpus folder that was given; None: a synthetic corpus in the run folder
    programs: tuple[Path, ...]  # the files that were given to a teacher
    initial: str | None  # the model that the run started from: a folder or a name
    supervision: str
    command: str
    commit: str | None
    started: str
    machine: str


def read_record(folder: Path) -> Record:
    """InputError if the folder is not a run, or one of another version."""
    path = folder / RUN
    if not path.is_file():
        raise InputError(f"not a run of `veriscene train`, {RUN} is missing", where=folder)
    try:
        record: dict[str, Any] = json.loads(files.read_text(path))
        if record.get("format") != FORMAT:
            raise InputError("started by another version of veriscene", where=path, allowed="start a new run")
        source = record["source"]
        programs = tuple(map(Path, source["programs"])) if source["kind"] == "teacher" else ()
        source = source["corpus"] if source["kind"] == "teacher" else source
        data = Path(source["folder"]) if source["kind"] == "corpus" else None
        config = models.read_config(record["config"], where=str(path))
        facts = {key: str(record[key]) for key in ("preset", "supervision", "command", "started", "machine")}
        initial = record.get("initial")
        return Record(config=config, data=data, programs=programs, initial=initial, commit=record["commit"], **facts)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError("damaged", where=path, allowed="start a new run") from None


def write_record(folder: Path, record: Record) -> None:
    data, teacher = record.config.data, record.config.teacher
    source: dict[str, Any] = {"kind": "corpus", "folder": str(record.data and record.data.resolve())}
    if record.data is None:
        source = {"kind": "synthetic", "statements": data.statements, "level": data.level, "seed": data.corpus_seed}
    if record.programs or teacher.statements:
        # What it makes of them is determined by the configuration's section `teacher`.
        source = {"kind": "teacher", "programs": [str(path.resolve()) for path in record.programs], "corpus": source}
    tree = {**vars(record), "format": FORMAT, "source": source, "config": record.config.to_json()}
    del tree["data"], tree["programs"]
    files.write_text(folder / RUN, json.dumps(tree, indent=1) + "\n")


def new_record(
    config: Config,
    preset: str,
    data: Path | None,
    programs: Sequence[Path],
    initial: str | Path | None,
    supervision: str,
    accelerator: Accelerator,
) -> Record:
    """Of a run that starts now."""
    return Record(
        preset=preset,
        config=config,
        data=data,
        programs=tuple(programs),
        initial=absolute(initial),
        supervision=supervision,
        command=shlex.join(["veriscene", *sys.argv[1:]]),
        commit=commit(),
        started=time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        machine=machine(accelerator),
    )


def absolute(model: str | Path | None) -> str | None:
    """A model's folder, wherever the run is resumed from; names stay names."""
    if model is None:
        return None
    return str(Path(model).resolve()) if Path(model).is_dir() else str(model)


def machine(accelerator: Accelerator) -> str:
    """What this command runs on."""
    device = torch.cuda.get_device_name() if accelerator.device.type == "cuda" else platform.machine()
    processes = f"{accelerator.num_processes} process{'es' if accelerator.num_processes > 1 else ''}"
    return f"{device}, {processes}, torch {torch.__version__}, Python {platform.python_version()}"


def commit() -> str | None:
    """The commit of the repository that this package runs from; None where it was installed from elsewhere."""
    root = Path(__file__).resolve().parents[3]
    if not (root / ".git").exists():
        return None
    call = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=7"]
    try:
        described = subprocess.run(call, capture_output=True, text=True, check=True, timeout=5)
    except (OSError, subprocess.SubprocessError):
        return None
    return described.stdout.strip() or None
