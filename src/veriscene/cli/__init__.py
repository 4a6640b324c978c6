"""The command line: `main` is the entry point, app.py lists the commands, and each group of commands has a module.

Commands parse arguments, call the package and print. This module imports nothing slow, so that Ctrl-C is handled
before typer, rich and torch are imported; commands import torch only when they run, so that `--help` is quick.
"""

from __future__ import annotations

import os
import signal

INTERRUPTED, TERMINATED = 130, 143  # the exit statuses that shells expect after Ctrl-C and SIGTERM


def main() -> None:
    """Runs the command line. Exit status: 0 success, 1 invalid input, 2 wrong usage, 130 interrupted."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda number, frame: os._exit(INTERRUPTED))
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:  # closed: the next file opened, a checkpoint perhaps, would become standard error, say
            os.open(os.devnull, os.O_RDWR)
    # OpenMP threads that spin while waiting bring a busy machine to a standstill.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from veriscene.cli.app import run

    run()
