"""The command line as a user runs it: each command is a process of its own."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from veriscene.cli import main

VERISCENE = (sys.executable, "-m", "veriscene")
# Processes forked from one that has imported everything start in no time; importing torch takes two seconds.
_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(  # of these, what cannot be imported is left out
    [
        *("accelerate", "matplotlib.pyplot", "pydantic.main", "sklearn", "torch._dynamo", "torch.utils.tensorboard"),
        *("veriscene.cli.app", "veriscene.lab.reproduce", "veriscene.judge.export"),
    ]
)


def veriscene(*arguments: str, cwd: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("stdin", "stdout", "stderr")]
        paths[0].write_text(stdin)
        process = _SERVER.Process(target=_run, args=(arguments, cwd, paths))
        process.start()
        process.join(timeout=120)
        process.kill()
        status = process.exitcode
        assert status is not None, f"{arguments} took too long"
        return subprocess.CompletedProcess(arguments, status, *(path.read_text() for path in paths[1:]))


def _run(arguments: tuple[str, ...], cwd: Path, paths: list[Path]) -> None:
    for descriptor, path in enumerate(paths):
        os.dup2(os.open(path, os.O_RDONLY if descriptor == 0 else os.O_WRONLY | os.O_CREAT), descriptor)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115
    os.chdir(cwd)
    os.environ["COLUMNS"] = "200"
    sys.argv = ["veriscene", *arguments]
    main()


def shell(command: str, *, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A line of bash in which `veriscene` is this interpreter's; its status is that of the last part that fails."""
    script = f"set -o pipefail; veriscene() {{ '{sys.executable}' -m veriscene \"$@\"; }}; {command}"
    env = {**os.environ, **environment}
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=cwd, env=env, timeout=120)


def settings(*changes: str) -> list[str]:
    return [part for change in changes for part in ("--set", change)]
