"""Random kills: a training is killed at random moments and resumed until it ends, and must then be bit-equal.

Which moments are tried follows from the seed and the number of the trial. A record counts trials and kills by seed, so
that later calls continue where earlier ones ended.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import tempfile
import time
from pathlib import Path

import tiny

from veriscene.training.spec import SPEC, Spec
from veriscene.training.train import train

RECORD = Path("runs") / "kills.json"
MAX_LIVES = 500  # of one trial: the run does not advance


def run(seed: int, minutes: float, record: Path = RECORD) -> tuple[dict[str, int], list[str]]:
    """Kills until the time is over and the current run has ended; returns this call's counts and those of all seeds."""
    end = time.monotonic() + 60 * minutes
    seeds = json.loads(record.read_text()) if record.exists() else {}
    mine = seeds.setdefault(str(seed), {"trials": 0, "kills": 0, "failures": 0})
    trials, kills, failures = 0, 0, list[str]()
    with tempfile.TemporaryDirectory() as name:
        folder, log = Path(name), Path(name) / "log"
        spec = Spec.of("bienc", data=tiny.prepare(folder), changes=(*tiny.SETTINGS, "training.epochs=6"))

        def advance(place: Path) -> None:
            train(spec, place, resume=(place / SPEC).exists())

        started = time.monotonic()
        assert tiny.ended(tiny.fork(lambda: advance(folder / "whole"), log)) == 0, log.read_text()
        seconds, expected = time.monotonic() - started, tiny.fingerprint(folder / "whole")
        while not trials or time.monotonic() < end:
            rng, place = random.Random(f"{seed}/{mine['trials']}"), folder / "run"
            shutil.rmtree(place, ignore_errors=True)
            lives, status = 0, -signal.SIGKILL
            while status == -signal.SIGKILL and lives < MAX_LIVES:
                child, lives = tiny.fork(lambda place=place: advance(place), log), lives + 1
                time.sleep(rng.uniform(0, seconds / 3))
                os.kill(child, signal.SIGKILL)  # until it is waited for, a process that has ended keeps its number
                status = tiny.ended(child)
            problem = f"status {status}: {log.read_text()[-300:]}" if status else ""
            if not problem and tiny.fingerprint(place) != expected:
                problem = "other weights"
            if problem:
                failures.append(f"seed {seed}, trial {mine['trials']}, after {lives - 1} kills: {problem}")
            trials, kills = trials + 1, kills + lives - 1
            mine["trials"] += 1
            mine["kills"] += lives - 1
            mine["failures"] += bool(problem)
            record.parent.mkdir(parents=True, exist_ok=True)
            record.write_text(json.dumps(seeds, indent=1) + "\n")
    return {"kills": kills, "runs": trials, "kills so far": sum(each["kills"] for each in seeds.values())}, failures
