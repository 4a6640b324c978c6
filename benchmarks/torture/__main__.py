"""Tries to break what this project promises: `make torture`, described in docs/reliability.md.

faults: every call that changes a file fails once. kills: random kills of a training. fuzz: hostile inputs. service:
overload, slow clients, SIGTERM and flat memory. Each part is a module with `run(seed, minutes) -> (counts, failures)`.
The last line on standard output is one JSON object. Example: python benchmarks/torture --minutes 10 --parts faults
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from pathlib import Path

PARTS = ("faults", "kills", "fuzz", "service")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--records", type=Path, default=Path("runs"), help="Folder of the counts of all seeds.")
    given = parser.parse_args()
    report: dict[str, object] = {"seed": given.seed, "minutes": given.minutes}
    failures: list[str] = []
    begin = time.monotonic()
    for number, part in enumerate(given.parts):
        started = time.monotonic()
        left = max(0.05, given.minutes - (started - begin) / 60) / (len(given.parts) - number)
        options = {} if part == "faults" else {"record": given.records / f"{part}.json"}
        counts, found = importlib.import_module(part).run(given.seed, left, **options)
        failures += [f"{part}: {failure}" for failure in found]
        report[part] = {**counts, "seconds": round(time.monotonic() - started)}
        print(f"{part}: {report[part]}, {len(found)} failures", file=sys.stderr, flush=True)
    print(json.dumps({**report, "failures": failures}))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
