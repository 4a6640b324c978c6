"""Random kills: a training is killed at random moments and resumed until it ends, and must then be bit-equal.

    python benchmarks/torture/kills.py --minutes 10 --seed 1 --kinds torchrun

There are four kinds of training: on a corpus, with a teacher's statements, on a corpus in two processes, of which one
or both are killed, and the same under torchrun, which starts them again. Which moments are tried follows from the seed
and the number of the trial. A record counts trials and kills by seed and kind, so that later calls continue where
earlier ones ended.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
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
KINDS = {"corpus": LONGER, "teacher": TAUGHT, "two processes": LONGER, "torchrun": LONGER}
USUAL = ("corpus", "teacher", "two processes")  # of torchrun, a life takes ten times as long
RESTART_SECONDS = 120.0  # until torchrun has started its processes again
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
            kind: (Launched if kind == "torchrun" else Training)(kind, corpus, folder) for kind in kinds or USUAL
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

    def __init__(self, kind: str, corpus: Path, folder: Path) -> None:
        self.corpus, self.folder, self.log = corpus, folder, folder / "log"
        self.changes = (*tiny.SETTINGS, *KINDS[kind])
        self.spec = Spec.of("bienc", data=corpus, changes=self.changes)
        self.processes = 2 if kind in ("two processes", "torchrun") else 1
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

    def _place(self) -> Path:
        for each in ("run", "run.cache"):
            shutil.rmtree(self.folder / each, ignore_errors=True)
        return self.folder / "run"

    def trial(self, rng: random.Random) -> tuple[int, str]:
        """Returns the number of kills, and what is wrong at the end, if anything."""
        place = self._place()
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


class Launched(Training):
    """Two processes that torchrun starts, and starts again until they end by themselves."""

    def trial(self, rng: random.Random) -> tuple[int, str]:
        place, kills = self._place(), 0
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
        command += [f"--max-restarts={MAX_LIVES}", "--monitor-interval=0.1", "--local-addr=127.0.0.1"]
        command += [str(Path(tiny.__file__)), "train", "bienc", "--data", str(self.corpus), "--out", str(place)]
        command += ["--resume-if-present", *(part for change in self.changes for part in ("--set", change))]
        environment = {**os.environ, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", "TORCH_ELASTIC_SHUTDOWN_TIMEOUT": "5"}
        with self.log.open("w") as log, subprocess.Popen(command, env=environment, stdout=log, stderr=log) as agent:
            workers = self._others(agent, [])
            begun = time.monotonic()
            while workers:
                if kills == 0:
                    while not (place / "last").exists() and agent.poll() is None:
                        time.sleep(0.01)
                    begun = time.monotonic() - begun  # the seconds until they train
                least = 0 if kills == 0 else begun / 3
                time.sleep(rng.uniform(least, 3 * least + self.seconds / 3 * (1 + kills / 20)))
                if agent.poll() is not None or workers != _children(agent.pid):
                    break  # they have ended, and the agent ends, too
                for worker in rng.choice([workers, workers[:1], workers[1:]]):
                    os.kill(worker, signal.SIGKILL)  # a child keeps its number until the agent has waited for it
                kills += 1
                workers = self._others(agent, workers)
            status = agent.wait()
        if status:
            return kills, f"status {status}: {self.log.read_text()[-300:]}"
        return kills, "" if tiny.fingerprint(place) == self.expected else "other weights"

    def _others(self, agent: subprocess.Popen[bytes], workers: Sequence[int]) -> list[int]:
        """Waits for other processes than these; returns none if the agent ends."""
        end = time.monotonic() + RESTART_SECONDS
        while agent.poll() is None:
            found = _children(agent.pid)
            if len(found) == self.processes and not set(found) & set(workers):
                return found
            assert time.monotonic() < end, self.log.read_text()
            time.sleep(0.01)
        return []


def _children(process: int) -> list[int]:
    try:
        return [int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=USUAL)
    parser.add_argument("--record", type=Path, default=RECORD)
    given = parser.parse_args()
    counts, failures = run(given.seed, given.minutes, given.record, given.kinds)
    print(json.dumps({**counts, "failures": failures}))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
