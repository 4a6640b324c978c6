"""A run that takes a second, its fingerprint, and processes that are forked from one which has imported torch."""

from __future__ import annotations

import faulthandler
import hashlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import torch
import torch._dynamo  # the first optimizer imports it, which would take most of the time of each process

from veriscene.errors import InputError
from veriscene.training import train as training
from veriscene.worlds.nlvr import synthetic

REFUSED, UNEXPECTED, HANGS = 1, 70, 124  # exit statuses: one clear line, a traceback, and no end
SECONDS = 15.0  # until a process that does not end says where it is; after twice as long it is killed
SETTINGS = (
    *("model.embedding=4", "model.hidden=4", "model.item=4", "training.batch=8", "training.epochs=2"),
    *("training.evaluate_every=2", "training.patience=99", "training.ema=0.9", "data.minimum_count=1"),
)


def save_always() -> None:
    """Makes every step of a run save: the moments worth hitting."""
    torch.set_num_threads(1)
    training.SAVE_SECONDS = -1.0
    sys.modules["torch.utils.tensorboard"] = None  # type: ignore[assignment]  # its thread writes at any moment


def prepare(folder: Path) -> Path:
    """Writes a corpus, and makes every step of a run save."""
    save_always()
    synthetic.write(folder / "corpus", synthetic.build(20, seed=1, level="simple", progress=lambda done, total: None))
    for split in ("train", "dev"):  # a few examples are enough
        file = folder / "corpus" / split / f"{split}.json"
        file.write_text("".join(file.read_text().splitlines(keepends=True)[:32]))
    return folder / "corpus"


def fork(work: Callable[[], object], log: Path) -> int:
    """Starts a process that does some work and exits with its status; its output goes to `log`."""
    child = os.fork()
    if child:
        return child
    status = UNEXPECTED
    try:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        faulthandler.dump_traceback_later(SECONDS)
        work()
        status = 0
    except (InputError, OSError) as error:
        print(error, file=sys.stderr)
        status = REFUSED
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def ended(child: int, seconds: float = 2 * SECONDS) -> int:
    """Waits for a process, and kills it when the time is over; returns its exit status, negative for the signal that
    killed it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return HANGS


def fingerprint(run: Path) -> str:
    """Of all weights, averages and moments in `best` and `last`, bit by bit."""
    found = hashlib.sha256()
    for part in ("best", "last"):
        found.update((run / part / "model.safetensors").read_bytes())
    state = torch.load(run / "last" / "trainer.pt", weights_only=True)
    tensors = [*state["ema"], *(each[key] for each in state["moments"].values() for key in sorted(each))]
    for tensor in (*tensors, *(each["cpu"] for each in state["processes"])):
        found.update(tensor.numpy().tobytes())
    return found.hexdigest()


if __name__ == "__main__":  # the command line, as torchrun starts it
    from veriscene.cli import main

    save_always()
    main()
