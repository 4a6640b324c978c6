"""`veriscene data check` and `data stats` on files of any size: at once, in bounded memory, with clear errors."""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from samples import random_scene
from some_worlds import NLVR, SHELF
from veriscene import worlds
from veriscene.data.teacher.statements import STATEMENTS_PER_BLOCK, program_lines
from veriscene.errors import InputError
from veriscene.files import write_bytes
from veriscene.language.program import read_programs
from veriscene.output import silent
from veriscene.world.examples import Example, write
from veriscene.worlds.nlvr.looks import WORLD

MEMORY = 600 << 20  # address space in bytes: libraries take about half of it
COMMAND = [sys.executable, "-m", "veriscene", "data"]


def data(*arguments: object) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, preexec_fn=limit)


@pytest.fixture(scope="module")
def malformed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "malformed.json"
    with path.open("w") as sink:
        for _ in range(200):
            sink.write('{"sentence": "There is a box", "label": maybe}\n' * 21_000)  # about 1 MB
    return path


def test_check_prints_problems_as_they_are_found(malformed: Path) -> None:
    started = time.monotonic()
    with subprocess.Popen(
        [*COMMAND, "check", str(malformed)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        lines = [process.stdout.readline() for _ in range(3)]
        process.stdout.close()  # as `head -3` does
        assert b"Traceback" not in process.stderr.read()
    assert [f"{malformed}:{number}: not JSON".encode() in line for number, line in enumerate(lines, 1)] == [True] * 3
    assert time.monotonic() - started < 20


@pytest.mark.parametrize("command", ["check", "stats"])
@pytest.mark.parametrize("file", ["malformed", "/dev/zero"])
def test_hostile_files_end_early_in_bounded_memory(command: str, file: str, malformed: Path) -> None:
    path = malformed if file == "malformed" else Path(file)
    done = data(command, path)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    if command == "stats":
        assert done.stdout == "" and done.stderr.startswith(f"veriscene: {path}:") and done.stderr.count("\n") == 1
    elif file == "malformed":
        assert done.stdout.splitlines()[-2] == f"{path}: too many problems; stopped after line 10,000"
    else:
        assert done.stdout.splitlines()[-1] == f"{path}: 0 valid examples, 1 problem"


def test_a_folder_is_checked_and_described_by_its_splits(tmp_path: Path) -> None:
    scene = random_scene(random.Random(1))
    for split in ("train", "dev"):
        examples = [Example(f"{number}-0", "There is a box.", scene, True) for number in range(3)]
        write(tmp_path / split / f"{split}.json", examples, WORLD)
    checked = data("check", tmp_path)
    assert checked.returncode == 0 and checked.stderr == ""
    assert checked.stdout.splitlines() == [
        f"{tmp_path}/{split}/{split}.json: 3 valid examples, 0 problems" for split in ("train", "dev")
    ]
    described = json.loads(data("stats", "--json", tmp_path).stdout)
    assert [facts["examples"] for facts in described.values()] == [3, 3]
    assert data("stats", tmp_path).stdout.count("different statements") == 2


@pytest.mark.parametrize(("world", "plain"), [("nlvr", 0.0), ("nlvr", 1.0), ("shelf", 0.0)])
def test_drawn_programs_are_read_back_and_do_not_depend_on_number_or_processes(
    world: str, plain: float, tmp_path: Path
) -> None:
    chosen = {"nlvr": NLVR, "shelf": SHELF}[world]

    def drawn(count: int, workers: int) -> list[bytes]:
        options = {"level": "full", "plain": plain, "seed": 5, "progress": silent}
        return list(program_lines(chosen, count, workers=workers, **options))

    many = drawn(STATEMENTS_PER_BLOCK * 2 + 3, 2)
    assert len(many) == STATEMENTS_PER_BLOCK * 2 + 3 and drawn(40, 1) == many[:40]
    (tmp_path / "p.jsonl").write_bytes(b"".join(many[:40]))
    statements = read_programs(tmp_path / "p.jsonl", worlds.language(chosen), worlds.scene_kinds(chosen))
    assert [each.to_line().encode() for each in statements] == many[:40]
    assert len({each.text for each in statements}) > 35


def test_lines_are_written_in_bounded_memory_and_a_failure_leaves_no_file(tmp_path: Path) -> None:
    def lines(fail: bool) -> Iterator[bytes]:
        for _ in range(200):
            yield b"x" * (1 << 20)
        if fail:
            raise InputError("no more")

    tracemalloc.start()
    write_bytes(tmp_path / "large", lines(False))
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()
    with pytest.raises(InputError):
        write_bytes(tmp_path / "failed", lines(True))
    assert [(path.name, path.stat().st_size) for path in tmp_path.iterdir()] == [("large", 200 << 20)]
