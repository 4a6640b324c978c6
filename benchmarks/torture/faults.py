"""The fault sweep: in a save of a run, a judge, a report and an import, every call that changes a file fails once.

For every n, the n-th write, fsync, rename, mkdir, unlink or rmdir fails with ENOSPC, EIO or EINTR, or kills the
process. Afterwards the old or the new state must load, the same command must succeed, and a run must end bit-equal.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

OLD_PAGE = "<!DOCTYPE html>old"
FAULTS = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO, "EINTR": errno.EINTR, "kill": -1}
HERE = Path(__file__).resolve().parent
EXHAUSTIVE_MINUTES = 2.5  # a quarter of the ten that `make torture` takes by default; what is left goes to other parts
MAX_SECONDS = 3600.0


def run(seed: int, minutes: float) -> tuple[dict[str, int], list[str]]:
    """Tries every n; with less time than that takes, every second, third, ..., beginning where the seed says."""
    stride, compiler = max(1, round(EXHAUSTIVE_MINUTES / minutes)), shutil.which("cc")
    if compiler is None:
        print("faults: skipped, there is no C compiler", file=sys.stderr)
        return {"tries": 0}, []
    with tempfile.TemporaryDirectory() as folder:
        shim = Path(folder) / "shim.so"
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", shim, HERE / "shim.c", "-ldl"], check=True)
        environment = {**os.environ, "LD_PRELOAD": str(shim), "OMP_NUM_THREADS": "1"}
        command = [sys.executable, __file__, folder, str(stride), str(seed)]
        done = subprocess.run(
            command, env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=MAX_SECONDS
        )
    counts, failures = json.loads(done.stdout.splitlines()[-1])
    return counts, failures


@dataclass(frozen=True)
class Target:
    """Something that is saved: `act` in a copy of `start`, after which `check` says what is wrong, if anything."""

    start: Path
    act: Callable[[Path], object]
    check: Callable[[Path], str]


def sweep(folder: Path, stride: int, seed: int) -> tuple[dict[str, int], list[str]]:
    import tiny

    shim, log, counts, failures = ctypes.CDLL(None), folder / "log", dict[str, int](), list[str]()
    for name, target in targets(folder).items():
        place = folder / "try" / "here"

        def armed(number: int, failure: int, target: Target = target, place: Path = place) -> None:
            shim.torture_arm(ctypes.c_long(number), failure)
            try:
                target.act(place)
            finally:
                calls = shim.torture_calls()
                shim.torture_arm(ctypes.c_long(-1), 0)
                (folder / "calls").write_text(str(calls))

        def attempt(number: int, failure: int, target: Target = target, place: Path = place) -> int:
            shutil.rmtree(place.parent, ignore_errors=True)
            shutil.copytree(target.start, place)
            return tiny.ended(tiny.fork(lambda: armed(number, failure), log))

        assert attempt(0, 0) == 0, log.read_text()
        total = int((folder / "calls").read_text())
        counts[f"{name} calls"], counts[f"{name} tries"] = total, 0
        for number in range(1 + seed % min(stride, total), total + 1, stride):
            for fault, failure in FAULTS.items():
                status, counts[f"{name} tries"] = attempt(number, failure), counts[f"{name} tries"] + 1
                problem = "" if status in (0, tiny.REFUSED, -signal.SIGKILL) else f"status {status}: {log.read_text()}"
                if not problem and (fault == "kill") != (status == -signal.SIGKILL):
                    problem = f"status {status}"
                if not problem and status == tiny.REFUSED and os.strerror(failure) not in log.read_text():
                    problem = f"the message does not say why: {log.read_text()}"
                if problem := problem or _checked(target, place):
                    failures.append(f"{name}: {fault} at call {number} of {total}: {problem[-300:]}")
    return counts, failures


def _checked(target: Target, place: Path) -> str:
    try:
        return target.check(place)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def targets(folder: Path) -> dict[str, Target]:
    """The four saves, each with what must hold afterwards."""
    import tiny
    from accelerate import Accelerator

    from veriscene import worlds
    from veriscene.cli.data import import_
    from veriscene.judge import checkpoint as checkpoints
    from veriscene.judge import folders
    from veriscene.report.run import report_run
    from veriscene.training.spec import Record, Spec
    from veriscene.training.train import train

    log = folder / "log"
    corpus = tiny.prepare(folder)
    spec = Spec.of("bienc", data=corpus, changes=tiny.SETTINGS)

    def begin() -> None:
        train(spec, folder / "begun", on_event=lambda event: os._exit(9) if getattr(event, "step", 0) > 4 else None)

    tiny.ended(tiny.fork(begin, log))
    whole = folder / "whole"
    shutil.copytree(folder / "begun", whole)
    resume = lambda place: train(Record.read(place).spec, place, resume=True)  # noqa: E731
    assert tiny.ended(tiny.fork(lambda: resume(whole), log)) == 0, log.read_text()
    expected = tiny.fingerprint(whole)

    def check_run(place: Path) -> str:
        for part in ("best", "last"):
            checkpoints.load(checkpoints.files.present(place / part) or place / part)
        if tiny.ended(tiny.fork(lambda: resume(place), log)) != 0:
            return f"cannot be resumed: {log.read_text()}"
        return "" if tiny.fingerprint(place) == expected else "other weights"

    new, old = checkpoints.load(whole / "last"), folder / "judge"
    shutil.copytree(folder / "begun" / "best", old / "model")
    weights = {(place / folders.WEIGHTS).read_bytes() for place in (old / "model", whole / "last")}

    def check_judge(place: Path) -> str:
        found = checkpoints.files.present(place / "model") or place / "model"
        checkpoints.load(found)
        is_one = (found / folders.WEIGHTS).read_bytes() in weights
        checkpoints.save(place / "model", new)
        return "" if is_one and [path.name for path in place.iterdir()] == ["model"] else "mixed weights"

    def report(place: Path) -> None:
        report_run(place, Accelerator(cpu=True))

    shutil.copytree(whole, folder / "reported")
    (folder / "reported" / "report.html").write_text(OLD_PAGE)
    shutil.copytree(folder / "reported", folder / "pages" / "here")
    assert tiny.ended(tiny.fork(lambda: report(folder / "pages" / "here"), log)) == 0, log.read_text()
    pages = {OLD_PAGE, (folder / "pages" / "here" / "report.html").read_text()}

    def check_report(place: Path) -> str:
        if (place / "report.html").read_text() not in pages:
            return "half a page"
        if tiny.ended(tiny.fork(lambda: report(place), log)) != 0:
            return f"cannot be repeated: {log.read_text()}"
        return "" if (place / "report.html").read_text() in pages - {OLD_PAGE} else "the old page"

    own = folder / "own"
    (own / "scenes").mkdir(parents=True)
    examples = worlds.read(corpus / "train" / "train.json")[:8]
    rows = [f'"{each.statement}",{number}.json,{str(each.label).lower()}' for number, each in enumerate(examples)]
    (own / "table.csv").write_text("\n".join(["statement,scene,label", *rows]))
    for number, each in enumerate(examples):
        (own / "scenes" / f"{number}.json").write_text(json.dumps(worlds.get().to_json_scene(each.scene)))

    def bring(place: Path) -> None:
        import_(place / "table.csv", place / "scenes", place / "out", dev_share=0.5, seed=1, world=None, eyes=False)

    def check_import(place: Path) -> str:
        if not (place / "out").exists() and tiny.ended(tiny.fork(lambda: bring(place), log)) != 0:
            return f"cannot be repeated: {log.read_text()}"
        read = sum(len(worlds.read(place / "out" / split / f"{split}.json")) for split in ("train", "dev"))
        left = sorted(path.name for path in place.iterdir())
        return "" if read == len(examples) and left == ["out", "scenes", "table.csv"] else f"{read} examples, {left}"

    return {
        "run": Target(folder / "begun", resume, check_run),
        "judge": Target(old, lambda place: checkpoints.save(place / "model", new), check_judge),
        "report": Target(folder / "reported", report, check_report),
        "import": Target(own, bring, check_import),
    }


if __name__ == "__main__":
    print(json.dumps(sweep(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
