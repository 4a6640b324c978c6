"""Random kills: a training is killed at random moments and resumed until it ends, and must then be bit-equal.

There are three kinds of training: on a corpus, with a teacher's statements, and on a corpus in two processes, of which
one or both are killed. Which moments are tried follows from the seed and the number of the trial. A record counts
trials and kills by seed and kind, so that later calls continue where earlier ones ended.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import tally
import tiny

from veriscene.training.spec import SPEC, Spec
from veriscene.training.train import train

RECORD = Path("runs") / "kills.json"
MAX_LIVES = 500  # of one trial: the run does not advance
LONGER = ("training.epochs=6",)
TAUGHT = ("teacher.statements=48", "teacher.grammar_scenes=2", "teacher.workers=1", "training.epochs=4")
KINDS = {"corpus": LONGER, "teacher": TAUGHT, "two processes": LONGER}
PATIENCE = 5.0  # seconds until a process that has lost the other one is ended, as torchrun does


def run(
    seed: int, minutes: float, record: Path = RECORD, kinds: Sequence[str] = ()
) -> tuple[dict[str, int], list[str]]:
    """Kills until the time is over and the current run has ended; returns this call's counts and those of all seeds."""
    end, counts, failures = time.monotonic() + 60 * minutes, Counter[str](), list[str]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus = tiny.prepare(folder)
        trainings = {
            kind: Training(kind, Spec.of("bienc", data=corpus, changes=(*tiny.SETTINGS, *KINDS[kind])), folder)
            for kind in kinds or KINDS
        }
        while not counts or time.monotonic() < end:
            for kind, training in trainings.items():
                mine = tally.of_seed(record, seed).get(f"runs: {kind}", 0)
                kills, problem = training.trial(random.Random(f"{seed}/{kind}/{mine}"))
                found = {"runs": 1, f"runs: {kind}": 1, "kills": kills, f"kills: {kind}": kills}
                counts.update(found)
                tally.add(record, seed, {**found, "failures": bool(problem)})
                if problem:
                    failures.append(f"seed {seed}, {kind}, trial {mine}, after {kills} kills: {problem}")
    return {**counts, "kills so far": tally.total(record, "kills")}, failures


class Training:
    """One kind of training, its end and how long it takes undisturbed."""

    def __init__(self, kind: str, spec: Spec, folder: Path) -> None:
        self.spec, self.folder, self.log = spec, folder, folder / "log"
        self.processes = 2 if kind == "two processes" else 1
        shutil.rmtree(folder / "whole", ignore_errors=True)
        started = time.monotonic()
        statuses = [tiny.ended(child) for child in self._begin(folder / "whole")]
        assert not any(statuses), self.log.read_text()
        self.seconds, self.expected = time.monotonic() - started, tiny.fingerprint(folder / "whole")

    def _begin(self, place: Path) -> list[int]:
        os.environ["VERISCENE_CACHE"] = f"{place}.cache"  # a teacher's epochs; kills hit their making, too
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            group = {"WORLD_SIZE": str(self.processes), "LOCAL_WORLD_SIZE": str(self.processes)}
            group |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}

        def advance(rank: int) -> None:
            if self.processes > 1:
                os.environ.update({**group, "RANK": str(rank), "LOCAL_RANK": str(rank)})
            train(self.spec, place, resume=(place / SPEC).exists())

        logs = [self.log, self.log.with_name("log of rank 1")]
        return [tiny.fork(lambda rank=rank: advance(rank), logs[rank]) for rank in range(self.processes)]

    def trial(self, rng: random.Random) -> tuple[int, str]:
        """Returns the number of kills, and what is wrong at the end, if anything."""
        place = self.folder / "run"
        for each in (place, self.folder / "run.cache"):
            shutil.rmtree(each, ignore_errors=True)
        for lives in range(MAX_LIVES):
            children = self._begin(place)
            # Longer and longer, so that a run advances on a machine that has become slower, too.
            time.sleep(rng.uniform(0, self.seconds / 3 * (1 + lives / 20)))
            killed = rng.choice([children, *([child] for child in children)])
            for child in killed:
                os.kill(child, signal.SIGKILL)  # until it is waited for, a process that has ended keeps its number
            statuses = [tiny.ended(child) for child in killed]
            statuses += [tiny.ended(child, PATIENCE) for child in children if child not in killed]
            if not any(statuses):
                return lives, "" if tiny.fingerprint(place) == self.expected else "other weights"
            if -signal.SIGKILL not in statuses:
                return lives, f"statuses {statuses}: {self.log.read_text()[-300:]}"
        return MAX_LIVES, "the run does not advance"
