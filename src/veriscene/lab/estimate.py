"""How long a seed takes on this machine: as long as an earlier one, or as a few of its steps suggest."""

from __future__ import annotations

import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from veriscene import models
from veriscene.lab import seeds
from veriscene.output import Output, clock
from veriscene.training.distributed import Machine
from veriscene.training.log import Event, Step, read_log
from veriscene.training.spec import Record, Spec
from veriscene.training.train import train

MEASURED_SECONDS = 4.0  # of steps; the first ones, which compile or capture, are left out
PREPARING_SECONDS = 120.0  # after which examples or features that are still being made are not waited for


class _Enough(Exception):
    """Ends a training that is only measured."""


class _Stopwatch(Output):
    """Watches a training, and ends it with _Enough when its speed is known or preparing it takes too long."""

    def __init__(self) -> None:
        self.started, self.begun = time.monotonic(), (0, 0.0)  # begun: a step, and when it was made
        self.steps, self.per_step = 0, 0.0  # all steps, and the seconds of one

    def progress(self, *_: object, **__: object) -> None:
        self.see(None)

    def see(self, event: Event | None) -> None:
        (step, at), now = self.begun, time.monotonic()
        if not isinstance(event, Step):
            if not step and now - self.started > PREPARING_SECONDS:
                raise _Enough
        elif not step:
            self.begun = event.step, now
        elif now - at >= MEASURED_SECONDS:
            self.steps, self.per_step = event.total_steps, (now - at) / (event.step - step)
            raise _Enough


def time_of_a_seed(spec: Spec, folder: Path, machine: Machine) -> str:
    """Says how long one seed of a folder of seeds takes on this machine, and how this is known."""
    for own in sorted(folder.glob("seed*")):
        if seeds.is_trained(own) and Record.read(own).machine == str(machine) and (log := read_log(own)):
            return f"about {clock(log[-1].seconds)} a seed, as {own} took on {machine}"
    if models.MODELS[spec.config.model.name].is_fitted:
        return "not estimated: it is fitted in one piece"
    if machine.processes > 1:
        return "not estimated by several processes"
    watch = _Stopwatch()
    with tempfile.TemporaryDirectory() as place, suppress(_Enough):
        # What a model starts from may not be trained yet, and makes no difference.
        plain, silent = replace(spec, initial=None), Machine(watch, machine.accelerator)
        result = train(plain, Path(place, "run"), machine=silent, on_event=watch.see)
        if result.interrupted:
            raise KeyboardInterrupt
        return f"about {clock(result.position.seconds)} a seed: one was trained to its end on {machine}"
    if not watch.steps:
        return f"not estimated: its examples are not ready after {PREPARING_SECONDS:.0f} s"
    by_steps, limit = watch.steps * watch.per_step, spec.config.training.minutes * 60
    return (
        f"at most about {clock(min(by_steps, limit or by_steps))} a seed, and scoring: {watch.steps:,} steps of"
        f" {watch.per_step:.2g} s, as measured for {MEASURED_SECONDS:.0f} s on {machine}"
    )
