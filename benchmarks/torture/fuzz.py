"""Damaged and hostile inputs for every reader: only InputError, no more than 2 s, no more than 500 MB.

    python benchmarks/torture/fuzz.py --minutes 10 --seed 1

Inputs come from three sources: valid ones with a few random changes, hypothesis, and, where it is installed, atheris,
which changes what has reached new code so far and keeps what reaches more. A record counts inputs by seed, and what
atheris kept is where later calls begin, so that calls add up. The last line of the output is a JSON object with counts
and failures.
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
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

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


def changed(content: bytes, is_json: bool, rng: random.Random) -> bytes:
    """An input with one to four random changes."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        is_structural = is_json and rng.random() < 0.7
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
    from readers import targets

    counts, failures, started = Counter[str](), list[Failure](), time.monotonic()
    calls = tally.of_seed(record, seed).get("calls", 0)
    tally.add(record, seed, {"calls": 1})

    def count(name: str, new: Mapping[str, int], found: Sequence[Failure]) -> None:
        inputs = sum(new.values()) - new.get("refused", 0)
        counts.update(new)
        failures.extend(found)
        tally.add(record, seed, {"inputs": inputs, **new, f"of {name}": inputs, "failures": len(found)})
        print(f"{name}: {dict(new)}, {len(failures)} failures", file=sys.stderr, flush=True)
        print("".join(f"  {each}\n" for each in found), end="", file=sys.stderr)

    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as folder:
        readers = targets(Path(folder))
        readers = {name: target for name, target in readers.items() if not only or name in only}
        left = max(5.0, 60 * minutes - (time.monotonic() - started))
        guided = importlib.util.find_spec("atheris") is not None and source != "changed"
        share = (1.0 if source == "atheris" else SHARES["atheris"]) if guided else 0.0
        if guided:
            _by_atheris(list(readers), record.with_suffix("").absolute(), seed + calls, share * left, count)
        if share < 1 and (not only or "links" in only) and shutil.which("node"):
            count("links", *_links(Path(folder), seed + calls, left / (len(readers) + 1)))
        for number, (name, target) in enumerate(readers.items() if share < 1 else ()):
            mixed = 1000 * (seed + calls * 1_000_003) + number
            count(name, *_in_process(name, target, mixed, (1 - share) * left / len(readers)))
    tally.add(record, seed, {"seconds": round(time.monotonic() - started)})
    so_far = tally.total(record, "inputs")
    inputs = sum(counts.values()) - counts["refused"]
    return {"inputs": inputs, **counts, "readers": len(readers), "inputs so far": so_far}, failures


def _in_process(name: str, target: Target, seed: int, seconds: float) -> tuple[Mapping[str, int], list[Failure]]:
    """A process of its own, so that its memory can be measured and one that hangs can be ended."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    current = mmap.mmap(-1, 8 + MAX_BYTES)  # shared: the input that was being read if the process is lost
    process = context.Process(target=_fuzz, args=(name, target, seed, seconds, sender, current))
    process.start()
    sender.close()
    counts, failures = dict[str, int](), list[Failure]()
    with suppress(EOFError):
        if receiver.poll(seconds + GRACE_SECONDS):
            counts, failures = receiver.recv()
    if not counts:
        content = current[8 : 8 + int.from_bytes(current[:8], "little")]
        process.kill()
        process.join()
        what = f"the process hangs, or ended with status {process.exitcode}"
        shown = base64.b64encode(content).decode()
        failures.append({"reader": name, "place": "process", "what": what, "input": shown})
    process.join()
    return counts, failures


def _fuzz(name: str, target: Target, seed: int, seconds: float, answers: Connection, current: mmap.mmap) -> None:
    with _quiet():
        check, rng = Check(name, target), random.Random(seed)
        share = SHARES["hypothesis"] / (SHARES["hypothesis"] + SHARES["changed"])
        _by_hypothesis(check, seed, share * seconds)
        by_hypothesis, end = check.count, time.monotonic() + (1 - share) * seconds
        while time.monotonic() < end:
            content = changed(rng.choice(target.inputs), target.is_json, rng)
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


def _links(folder: Path, seed: int, seconds: float) -> tuple[Mapping[str, int], list[Failure]]:
    """The page's links, which a module in JavaScript reads."""
    from veriscene.service.app import STATIC
    from veriscene.world.world_file import to_tree
    from veriscene.worlds.nlvr.looks import WORLD

    modules = shutil.copytree(STATIC, folder / "page")
    (modules / "package.json").write_text('{"type": "module"}')
    script, tree = Path(__file__).with_name("links.mjs"), json.dumps(to_tree(WORLD))
    command = ["node", str(script), str(modules), tree, str(seed), str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + GRACE_SECONDS, check=True)
    inputs, failures = json.loads(done.stdout)
    return {"changed": inputs}, failures


def _by_atheris(
    names: Sequence[str],
    kept: Path,
    seed: int,
    seconds: float,
    count: Callable[[str, Mapping[str, int], Sequence[Failure]], None],
) -> None:
    """Starts this file in a process whose code is instrumented, which tells of one reader after the other."""
    command = [sys.executable, __file__, "--seed", str(seed), "--minutes", str(seconds / 60)]
    command += ["--atheris", str(kept), "--only", *names]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            count(*json.loads(line))
    if process.returncode:
        what = f"ended with status {process.returncode}"
        count("atheris", {}, [{"reader": "all", "place": "atheris", "what": what, "input": ""}])


def _guided(names: Sequence[str], kept: Path, seed: int, minutes: float) -> None:
    """Prints a JSON list for each reader: its name, counts and failures. The library ends the process that it works
    in, so each reader gets one, forked from this, where everything is imported and made."""
    import atheris

    started = time.monotonic()
    with atheris.instrument_imports(include=["veriscene"]):
        from readers import targets
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as name:
        folder = Path(name)
        readers = targets(folder / "files")
        seconds = max(1, round((60 * minutes - (time.monotonic() - started)) / len(names)))
        for name in names:
            corpus, output, found = kept / re.sub(r"\W", "-", name), folder / "output", folder / "failures.json"
            for each in (corpus, folder / name.replace("/", "-") / "inputs"):
                each.mkdir(parents=True, exist_ok=True)
            for number, content in enumerate(readers[name].inputs):
                (each / str(number)).write_bytes(content)
            found.unlink(missing_ok=True)
            options = [f"-seed={seed}", f"-max_len={MAX_BYTES >> 4}", "-verbosity=0", "-rss_limit_mb=0", "-timeout=600"]
            options += [f"-artifact_prefix={folder}/"]
            child = os.fork()
            if not child:
                _guided_reader(name, readers[name], [*options, str(corpus), str(each)], seconds, output, found)
            ended, end = 0, time.monotonic() + seconds + GRACE_SECONDS
            while not ended and time.monotonic() < end:
                time.sleep(0.05)
                ended, status = os.waitpid(child, os.WNOHANG)
            if not ended:
                os.kill(child, signal.SIGKILL)
                _, status = os.waitpid(child, 0)
            executed, failures = json.loads(found.read_text()) if found.exists() else (0, [])
            if status:
                what = f"atheris ended with status {status}: {output.read_text('utf-8', 'replace')[-300:]}"
                failures.append({"reader": name, "place": "atheris", "what": what, "input": ""})
            print(json.dumps([name, {"atheris": executed}, failures]), flush=True)


def _guided_reader(
    name: str, target: Target, options: Sequence[str], seconds: float, output: Path, found: Path
) -> NoReturn:
    """Ends the process when the time is over: the library's own end waits for threads that a fork does not have."""
    import atheris

    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    check, end, told = Check(name, target), time.monotonic() + seconds, 0

    def read(content: bytes) -> None:
        nonlocal told
        check(content)
        is_over = time.monotonic() > end
        if is_over or len(check.failures) > told:
            told = len(check.failures)
            found.write_text(json.dumps([check.count, list(check.failures.values())]))
        if is_over:
            os._exit(0)

    def mutate(content: bytes, most: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < 0.5:
            return bytes(atheris.Mutate(content, most))
        return changed(bytes(content), target.is_json, rng)[:most]

    atheris.Setup([sys.argv[0], *options], read, custom_mutator=mutate)
    atheris.Fuzz()
    os._exit(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", default=(), help="Names of readers.")
    parser.add_argument("--source", choices=("changed", "atheris"), help="Where all inputs come from.")
    parser.add_argument("--record", type=Path, default=RECORD)
    parser.add_argument("--atheris", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.atheris:
        _guided(given.only, given.atheris, given.seed, given.minutes)
        return
    counts, failures = run(given.seed, given.minutes, given.only, given.record, given.source)
    print(json.dumps({**counts, "failures": failures}))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
