"""`veriscene checks`: what is installed here, what works, and what would add the rest."""

from __future__ import annotations

import json
import os
import platform
import random
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import typer

from veriscene import __version__, files
from veriscene.cli.output import AsJson
from veriscene.errors import EXTRAS, InputError, message
from veriscene.output import counted

BASE = ("numpy", "onnxruntime", "safetensors", "pillow", "typer", "rich", "huggingface_hub")
DISTRIBUTIONS = {"sklearn": "scikit-learn", "prometheus_client": "prometheus-client"}  # by the module's name
# What each extra is for. Everything else works without extras.
COMMANDS = {
    "train": "train, train-reader, pretrain, quickstart, report, reproduce, settings",
    "onnx": "export",
    "serve": "serve",
    "plot": "figures",
    "maxent": "train maxent",
    "tune": "tune",
    "export": "data export and import of .parquet",
    "ray": "judging with Ray Data (docs/bulk.md)",
    "gym": "veriscene.lab.environment in Python",
}


def checks(as_json: AsJson = False) -> None:
    """Show versions, devices, the cache and shipped models, each of which judges once, and which extras are missing.

    The exit status is 1 if a shipped model does not work.

    Example: veriscene checks
    """
    found = _found()
    if as_json:
        print(json.dumps(found))
    else:
        print("\n".join(_lines(found)))
    if not all(model["works"] for model in found["models"].values()):
        raise typer.Exit(1)


def _found() -> dict[str, Any]:
    missing = [extra for extra, packages in EXTRAS.items() if not all(map(_is_installed, packages))]
    modules = dict.fromkeys((*BASE, *(name for packages in EXTRAS.values() for name in packages)))
    return {
        "veriscene": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "packages": {name: _version(DISTRIBUTIONS.get(name, name)) for name in modules},
        "devices": _devices(),
        "cache": _cache(files.cache_folder()),
        "models": _models(),
        "extras": {extra: {"commands": COMMANDS[extra], "installed": extra not in missing} for extra in EXTRAS},
        "install": f"pip install 'veriscene[{','.join(missing)}]'" if missing else None,
    }


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):  # it was blocked
        return False


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _devices() -> list[str]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    found = [f"cpu: {counted(cores, 'core')}, {platform.machine()}"]
    if _is_installed("torch"):
        import torch

        if torch.cuda.is_available():
            found += [f"cuda:{i}: {torch.cuda.get_device_name(i)}" for i in range(torch.cuda.device_count())]
    return found


def _cache(folder: Path) -> dict[str, Any]:
    try:
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    except OSError:  # another process removed a file meanwhile
        size = 0
    nearest = next((each for each in (folder, *folder.parents) if each.exists()), folder)
    return {"folder": str(folder), "megabytes": round(size / 1e6, 1), "writable": os.access(nearest, os.W_OK)}


def _models() -> dict[str, dict[str, Any]]:
    """Lets each shipped model judge a random scene."""
    from veriscene import worlds
    from veriscene.english.grammar import draw
    from veriscene.judge import load
    from veriscene.judge.folders import list_checkpoints
    from veriscene.world.random_scenes import random_scene

    found: dict[str, dict[str, Any]] = {}
    for name in (listed.name for listed in list_checkpoints(Path(os.devnull))):
        started, rng = time.perf_counter(), random.Random(1)
        try:
            judge = load(name)
            judge(draw(rng, worlds.language(judge.world)).text, random_scene(judge.world, rng))
        except (InputError, OSError) as error:
            found[name] = {"works": False, "error": message(error)}
        else:
            found[name] = {"works": True, "seconds": round(time.perf_counter() - started, 2)}
    return found


def _outcome(model: dict[str, Any]) -> str:
    return f"{model['seconds']:.2f} s" if model["works"] else f"does not work: {model['error']}"


def _lines(found: dict[str, Any]) -> list[str]:
    packages = [f"{name} {number}" for name, number in found["packages"].items() if number]
    cache = found["cache"]
    lines = [
        f"veriscene {found['veriscene']}, Python {found['python']} ({sys.executable}), {found['system']}",
        f"packages: {', '.join(packages)}",
        *found["devices"],
        f"cache: {cache['folder']}, {cache['megabytes']} MB{'' if cache['writable'] else ', not writable'}",
        "",
        "shipped models, each loaded and asked once:",
    ]
    for name, model in found["models"].items():
        lines.append(f"  {name}: {_outcome(model)}")
    lines += ["", "works without extras: predict, judge, explain, evaluate, score, models, data, world, site"]
    for extra, about in found["extras"].items():
        lines.append(f"  [{extra}] {'installed' if about['installed'] else 'missing'}: {about['commands']}")
    if found["install"]:
        lines += ["", f"to add what is missing: {found['install']}"]
    return lines
