"""Damaged and hostile inputs for every reader: only InputError, no more than 2 s, no more than 500 MB.

    python benchmarks/torture/fuzz.py --minutes 10 --seed 1

Inputs come from three sources: valid ones with a few random changes, hypothesis, and, where it is installed
(`pip install atheris`), atheris, which looks for inputs that reach new code; it is used for readers that need no
trained model. A record counts inputs by seed. The last line of the output is a JSON object with counts and failures.
"""

from __future__ import annotations

import argparse
import base64
import copy
import importlib.util
import json
import mmap
import multiprocessing
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veriscene.errors import InputError

sys.path.insert(0, str(Path(__file__).parent))  # this file is run as a script, as part of a package, and by tests
import tally

if TYPE_CHECKING:
    from readers import Target

RECORD = Path("runs") / "fuzz.json"
CPU_SECONDS = 2.0  # of one input: wall-clock time would depend on what else the machine does
MEGABYTES = 500  # of growth
MAX_BYTES = 1 << 20  # of an input
GRACE_SECONDS = 60.0  # until a process that does not return counts as hanging
SHARES = {"changed": 0.5, "hypothesis": 0.1, "atheris": 0.4}  # of the time
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        2**31,
        2**63,
        -(2**63),
        10**25,
        10**400,
        0.5,
        1e308,
        -0.0,
        float("inf"),
        float("nan"),
    ),
    *("", " ", "a", "\x00", "\x1b[31m", "\ud800", "é" * 300, "-" * 5000, "../x", "=1+1-0", "1e999", "0" * 50),
    *([], {}, [[]], [None], {"": None}, [[[[[]]]]], {"a": {"b": {}}}, [0] * 1000, {"format": 2}, {"name": "x"}),
)
TOKENS = (
    *(
        b"\x00",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\x1b]0;x\x07",
        b"\r\n",
        b"\n",
        b'"',
        b"'",
        b",",
        b"[",
        b"]",
        b"{",
        b"}",
        b"=",
    ),
    *(b"nan", b"inf", b"1e999", b"-1", b"99999999999999999999", b"9" * 5000, b"null", b"true", b"lambda x: ", b"not "),
    *(
        b"(" * 200,
        b"[" * 3000,
        b"{'a':" * 500,
        b"exist(",
        b"count(",
        b" or ",
        b" and ",
        b" == ",
        b"0" * 300,
        b"\\u0000",
    ),
)
Failure = dict[str, str]


class TooSlow(BaseException):
    """One input took too long. Not an Exception, which a reader might turn into something else."""


# ---------------------------------------------------------------- one input


class Check:
    """Reads inputs, and keeps one failure for each place in the code."""

    def __init__(self, name: str, target: Target) -> None:
        self.name, self.target = name, target
        self.count, self.refused, self.failures, self.peak = 0, 0, dict[str, Failure](), _peak()
        signal.signal(signal.SIGPROF, _too_slow)
        for content in target.inputs:
            self(content)
        self.count, self.refused, self.peak = 0, 0, _peak()

    def __call__(self, content: bytes) -> None:
        self.count += 1
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        try:
            self.target.read(content)
        except InputError as error:
            self.refused += 1
            line = str(error)
            if not line.isprintable() or len(line) > 5000:
                self._fail("message", "the message is not one printable line of bounded length", content)
        except (Exception, TooSlow) as error:
            frames = [
                f"{Path(frame.filename).name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)
            ]
            self._fail(f"{type(error).__name__} {frames[1:2]} {frames[-1]}", f"{error!s:.200}", content)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        if _peak() - self.peak > MEGABYTES << 10:
            self._fail("memory", f"grew by {(_peak() - self.peak) >> 10} MB", content)
            self.peak = _peak()

    def _fail(self, place: str, what: str, content: bytes) -> None:
        shown = base64.b64encode(content).decode()
        known = self.failures.get(place)
        if known is None or len(shown) < len(known["input"]):  # the shortest input is the easiest to understand
            self.failures[place] = {"reader": self.name, "place": place, "what": what, "input": shown}


def _too_slow(number: int, frame: object) -> None:
    raise TooSlow(f"more than {CPU_SECONDS} s")


def _peak() -> int:
    """The largest memory of this process so far, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


# ---------------------------------------------------------------- changes


def changed(target: Target, rng: random.Random) -> bytes:
    """A valid input with one to four random changes."""
    content = rng.choice(target.inputs)
    for _ in range(rng.choice((1, 1, 2, 4))):
        is_structural = target.is_json and rng.random() < 0.7
        content = (is_structural and _json_changed(content, rng)) or _bytes_changed(content, rng)
    return content[:MAX_BYTES]


def _json_changed(content: bytes, rng: random.Random) -> bytes | None:
    lines = content.split(b"\n")
    number = rng.randrange(len(lines))
    try:
        value = _value_changed(json.loads(lines[number] if len(lines) > 1 and lines[number] else content), rng)
        text = json.dumps(value, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    except (ValueError, RecursionError):
        return None
    return b"\n".join([*lines[:number], text, *lines[number + 1 :]]) if lines[number] and len(lines) > 1 else text


def _value_changed(value: Any, rng: random.Random) -> Any:
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(list(value))
        kind = rng.random()
        if kind < 0.1:
            return {name: part for name, part in value.items() if name != key}
        if kind < 0.2:
            return {**value, str(rng.choice(VALUES))[:5000]: copy.copy(value[key])}
        return {**value, key: _value_changed(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.85:
        at = rng.randrange(len(value))
        if rng.random() < 0.15:
            return (value * rng.choice((0, 2, 100)))[:2000]
        return [*value[:at], _value_changed(value[at], rng), *value[at + 1 :]]
    return rng.choice(VALUES)


def _bytes_changed(content: bytes, rng: random.Random) -> bytes:
    at, length = rng.randint(0, len(content)), rng.choice((1, 1, 2, 4, 16, 256))
    rest = content[at + length :]
    match rng.randrange(7):
        case 0:
            return content[:at] + rng.randbytes(min(length, 16)) + rest
        case 1:
            return content[:at] + rest
        case 2:
            return content[:at] + rng.choice(TOKENS) + content[at:]
        case 3:
            return content[:at] + rng.choice(TOKENS) + rest
        case 4:
            return content[:at] + content[at : at + length] * rng.choice((2, 3, 50)) + rest
        case 5 if content:
            place = rng.randrange(len(content))
            return content[:place] + bytes([content[place] ^ 1 << rng.randrange(8)]) + content[place + 1 :]
        case _:
            other = rng.randint(0, len(content))
            return content[:at] + content[other : other + length * 8] + rest


def _by_hypothesis(check: Check, seed: int, seconds: float) -> None:
    """Inputs from scratch, which hypothesis makes smaller and simpler than random changes do."""
    import hypothesis
    from hypothesis import strategies as st

    plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
    nested = st.recursive(plain, lambda each: st.lists(each, max_size=4) | st.dictionaries(st.text(max_size=8), each))
    contents = st.binary(max_size=400) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass"))
    contents |= st.lists(st.sampled_from((*TOKENS, *check.target.inputs)), max_size=5).map(b"".join)
    if check.target.is_json:
        contents |= nested.map(lambda value: json.dumps(value).encode())

    def read(content: bytes) -> None:
        check(content)

    end = time.monotonic() + seconds
    quiet = hypothesis.settings(
        max_examples=50,
        database=None,
        deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.generate],
    )
    while time.monotonic() < end:
        hypothesis.seed(seed)(quiet(hypothesis.given(contents)(read)))()
        seed += 1


# ---------------------------------------------------------------- processes


def run(
    seed: int, minutes: float, only: Sequence[str] = (), record: Path = RECORD, source: str | None = None
) -> tuple[dict[str, int], list[Failure]]:
    """Fuzzes every reader for an equal share of the time; returns the number of inputs by source, and the failures.

    The record counts inputs by seed. A later call with the same seed tries other inputs. `source`: where all inputs
    come from; None for all sources.
    """
    from readers import plain_targets, targets

    counts, failures, started = Counter[str](), list[Failure](), time.monotonic()
    has_atheris = importlib.util.find_spec("atheris") is not None and source != "changed"
    calls = tally.of_seed(record, seed).get("calls", 0)
    tally.add(record, seed, {"calls": 1})
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        plain = plain_targets(Path(folder))
        readers = {**plain, **(targets(Path(folder)) if source != "atheris" else {})}
        readers = {name: target for name, target in readers.items() if not only or name in only}
        left = max(5.0, 60 * minutes - (time.monotonic() - started))
        seconds = left / len(readers)
        for number, (name, target) in enumerate(readers.items()):
            new, before = Counter[str](), len(failures)
            if guided := has_atheris and name in plain:
                share = 1.0 if source == "atheris" else SHARES["atheris"]
                kept = record.with_suffix("") / re.sub(r"\W", "-", name)
                new["atheris"] = _by_atheris(name, target, seed + calls, share * seconds, failures, kept)
            if source != "atheris":
                own, mixed = seconds * (1 - SHARES["atheris"] * guided), 1000 * (seed + calls * 1_000_003) + number
                new.update(_in_process(name, target, mixed, own, failures))
            found, inputs = len(failures) - before, sum(new.values()) - new["refused"]
            counts.update(new)
            tally.add(record, seed, {"inputs": inputs, **new, f"of {name}": inputs, "failures": found})
            print(f"{name}: {dict(new)}, {len(failures)} failures", file=sys.stderr, flush=True)
            print("".join(f"  {each}\n" for each in failures[before:]), end="", file=sys.stderr)
        tally.add(record, seed, {"seconds": round(time.monotonic() - started)})
    so_far = tally.total(record, "inputs")
    inputs = sum(counts.values()) - counts["refused"]
    return {"inputs": inputs, **counts, "readers": len(readers), "inputs so far": so_far}, failures


def _in_process(name: str, target: Target, seed: int, seconds: float, failures: list[Failure]) -> Mapping[str, int]:
    """A process of its own, so that its memory can be measured and one that hangs can be ended."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    current = mmap.mmap(-1, 8 + MAX_BYTES)  # shared: the input that was being read if the process is lost
    process = context.Process(target=_fuzz, args=(name, target, seed, seconds, sender, current))
    process.start()
    sender.close()
    counts: dict[str, int] = {}
    with suppress(EOFError):
        if receiver.poll(seconds + GRACE_SECONDS):
            counts, found = receiver.recv()
            failures += found
    if not counts:
        content = current[8 : 8 + int.from_bytes(current[:8], "little")]
        process.kill()
        process.join()
        what = f"the process hangs, or ended with status {process.exitcode}"
        shown = base64.b64encode(content).decode()
        failures.append({"reader": name, "place": "process", "what": what, "input": shown})
    process.join()
    return counts


def _fuzz(name: str, target: Target, seed: int, seconds: float, answers: Connection, current: mmap.mmap) -> None:
    with _quiet():
        check, rng = Check(name, target), random.Random(seed)
        share = SHARES["hypothesis"] / (SHARES["hypothesis"] + SHARES["changed"])
        _by_hypothesis(check, seed, share * seconds)
        by_hypothesis, end = check.count, time.monotonic() + (1 - share) * seconds
        while time.monotonic() < end:
            content = changed(target, rng)
            current[:8] = len(content).to_bytes(8, "little")
            current[8 : 8 + len(content)] = content
            check(content)
    counts = {"hypothesis": by_hypothesis, "changed": check.count - by_hypothesis, "refused": check.refused}
    answers.send((counts, list(check.failures.values())))


@contextmanager
def _quiet() -> Iterator[None]:
    """Libraries in C write about damaged files to standard error."""
    saved, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)


def _by_atheris(name: str, target: Target, seed: int, seconds: float, failures: list[Failure], kept: Path) -> int:
    """Starts this file in a process whose code is instrumented; returns the number of inputs. Those that reached new
    code stay in the folder `kept`, where a later call starts from them."""
    kept.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        inputs, found = Path(folder, "inputs"), Path(folder, "failures.json")
        inputs.mkdir()
        for number, content in enumerate(target.inputs):
            (inputs / str(number)).write_bytes(content)
        command = [sys.executable, __file__, "--atheris", name, "--folder", folder, "--corpus", str(kept)]
        command += ["--seed", str(seed), "--minutes", str(max(1, round(seconds)) / 60)]
        done = subprocess.run(command, capture_output=True, timeout=seconds + 10 * GRACE_SECONDS, check=False)
        output = done.stderr.decode("utf-8", "replace")
        failures += json.loads(found.read_text()) if found.exists() else []
        executed = re.search(r"stat::number_of_executed_units: *(\d+)", output)
        if executed is None:
            what = f"atheris ended with status {done.returncode}: {output[-300:]}"
            failures.append({"reader": name, "place": "atheris", "what": what, "input": ""})
        return int(executed[1]) if executed else 0


def _atheris_process(given: argparse.Namespace) -> None:
    """Never returns: the library ends the process."""
    import atheris

    folder = Path(given.folder)
    with atheris.instrument_imports(include=["veriscene"]):
        from readers import plain_targets
    check = Check(given.atheris, plain_targets(folder / "files")[given.atheris])

    def read(content: bytes) -> None:
        before = len(check.failures)
        check(content)
        if len(check.failures) > before:
            (folder / "failures.json").write_text(json.dumps(list(check.failures.values())))

    options = [f"-max_total_time={round(60 * given.minutes)}", f"-seed={given.seed}", f"-max_len={MAX_BYTES >> 4}"]
    options += ["-print_final_stats=1", "-rss_limit_mb=0", "-timeout=600", "-verbosity=0"]
    atheris.Setup([sys.argv[0], *options, given.corpus, str(folder / "inputs")], read)
    atheris.Fuzz()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=(), help="Names of readers.")
    parser.add_argument("--source", choices=("changed", "atheris"), help="Where all inputs come from.")
    parser.add_argument("--record", type=Path, default=RECORD)
    parser.add_argument("--atheris", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    parser.add_argument("--corpus", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.atheris:
        _atheris_process(given)
    counts, failures = run(given.seed, given.minutes, given.only, given.record, given.source)
    print(json.dumps({**counts, "failures": failures}))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
