"""Judging files of any size. The input is cut into parts, each with a file of answers of its own.

What a part is follows from the input alone, and its file is written whole or not at all. So any number of processes, on
any machines that share the folder, can judge parts at the same time; whoever is killed loses the part that it is
judging, and a rerun judges the parts that have no file. Memory does not depend on the size of the input; of Parquet,
the answers of one part are held.
"""

from __future__ import annotations

import gc
import json
import re
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from veriscene import files, worlds
from veriscene.data.encoder import Input
from veriscene.data.tables import FORMATS, open_parquet, parquet_batches, parquet_of, plain, pyarrow
from veriscene.data.teacher.workers import Workers
from veriscene.errors import InputError
from veriscene.files import MAX_LINE
from veriscene.judge import load
from veriscene.judge.folders import DOWNLOADED, find, read_json, shipped_checkpoints, shipped_readers, without_eyes
from veriscene.judge.judge import EyesJudge, Judge
from veriscene.judge.question import Question
from veriscene.judge.remote import served
from veriscene.output import Progress, silent
from veriscene.world.examples import Found

Row = dict[str, Any]
Counts = Counter[str]

PART = 8192  # rows of Parquet files in a part; of JSON lines as many KiB, since a line has about one
WINDOW, GPU_WINDOW, PICTURE_WINDOW = 1024, 8192, 64  # questions that are judged together; pictures take more memory
NOTHING = {"questions": 0, "true": 0, "not_understood": 0, "malformed": 0}  # Counts of a part
JOB = "job.json"  # in the folder of answers: what they are answers to
RARE_COLLECTIONS = (300_000, 20, 50)  # thresholds of Python's garbage collector
_SUFFIXES = {".jsonl": "jsonl", ".json": "jsonl", ".parquet": "parquet"}
_TEXTS = ("statement", "sentence", "identifier")
_PART = re.compile(r"part-(\d+)\.(?:jsonl|parquet)")


@dataclass(frozen=True)
class Part:
    """Rows of a Parquet file, or the lines that begin in some bytes of a file of JSON lines."""

    number: int
    file: str  # in the input
    start: int
    stop: int


@dataclass(frozen=True)
class Bulk:
    """Judges the questions in a file, or in the .jsonl, .json and .parquet files of a folder, into a folder of answers.

    Answers stand in the order of the questions, one for each, in files part-N that follow one another. Each tells its
    question by `identifier`, `file` and `at`: the row of a Parquet file, the first byte of a JSON line. A malformed
    question has an `error` in place of a verdict. Can be pickled.
    """

    model: str
    source: Path
    out: Path
    format: str = ""  # of the answers; by default, that of the questions
    readings: bool = False  # whether answers have `reading` and `disputed`
    eyes: bool = False
    device: str = "cpu"
    part: int = PART

    def __getstate__(self) -> Row:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}  # without the judge

    # ------------------------------------------------------------ parts

    @cached_property
    def inputs(self) -> list[Path]:
        """Lists the files of questions, by name; raises InputError if there are none."""
        if not self.source.is_dir():
            if self.source.exists() and not self.source.is_file():
                raise InputError("not a regular file", where=self.source, allowed="parts are read where they begin")
            _size(self.source)  # raises InputError if it cannot be read
            return [self.source]
        found = sorted(path for path in self.source.iterdir() if path.suffix in _SUFFIXES and path.is_file())
        if not found:
            raise InputError("holds no questions", where=self.source, allowed="give .jsonl, .json or .parquet files")
        return found

    @cached_property
    def kind(self) -> str:
        """Names the format of the answers."""
        kind = self.format or _kind(self.inputs[0])
        if kind not in FORMATS:
            raise InputError(f"unknown format {kind!r}", allowed=f"choose from {', '.join(FORMATS)}")
        return kind

    @cached_property
    def parts(self) -> list[Part]:
        """All parts, in the order of the questions."""
        found: list[Part] = []
        for path in self.inputs:
            size, step = (_row_count(path), self.part) if _kind(path) == "parquet" else (_size(path), self.part << 10)
            found += [
                Part(len(found) + number, path.name, start, min(start + step, size))
                for number, start in enumerate(range(0, size, step))
            ]
        return found

    def missing(self, shard: tuple[int, int] = (0, 1)) -> list[Part]:
        """Returns the parts of shard I of N that have no answers; creates the folder of answers if there is none.

        InputError if it holds anything but answers of this model to these questions.
        """
        if self.out.resolve() in (self.source.resolve(), self.source.resolve().parent):
            raise InputError("holds the questions", where=self.out, allowed=files.NEW_FOLDER)
        parts, job, path = self.parts[shard[0] :: shard[1]], self._job(), self.out / JOB
        if not path.exists():
            try:
                files.check_empty(self.out, hint=files.NEW_FOLDER)
                files.write_text(path, json.dumps(job, indent=1) + "\n")
            except InputError:
                if not path.exists():  # else another shard has written it
                    raise
        if (before := read_json(path)) != job:
            differs = [key for key in job if not isinstance(before, Mapping) or before.get(key) != job[key]]
            what = f"holds answers of another job (other {', '.join(differs)})"
            raise InputError(what, where=self.out, allowed=files.NEW_FOLDER)
        done = {int(match[1]) for file in self.out.iterdir() if (match := _PART.fullmatch(file.name))}
        return [part for part in parts if part.number not in done]

    def _job(self) -> Row:
        return {
            "model": Path(self.model).name,
            "weights": _digest(self.model),
            "files": [[path.name, _size(path)] for path in self.inputs],
            **{name: getattr(self, name) for name in ("kind", "readings", "eyes", "part")},
        }

    # ------------------------------------------------------------ questions and answers

    @cached_property
    def judge(self) -> Judge:
        return load(self.model, device=self.device, eyes=self.eyes)

    def answer(self, part: Part, progress: Progress = silent) -> Counts:
        """Judges a part and writes its file, completely or not at all; tells `progress` how many of the part's bytes or
        rows are judged."""
        counts = Counter(NOTHING)
        rows = self._counted(part, counts, progress)
        lines = (f"{json.dumps(row)}\n".encode() for row in rows)  # written as they are made
        path = self.out / f"part-{part.number:06}.{self.kind}"
        try:
            with _rare_collections():
                files.write_bytes(path, parquet_of(rows, self._schema()) if self.kind == "parquet" else lines)
        except InputError:
            if not path.exists():  # else another command has judged this part meanwhile
                raise
        for leftover in self.out.glob(f"{path.name}.*.partial"):  # of a process that was killed, or that is too late
            leftover.unlink(missing_ok=True)
        return counts

    def rows(self, part: Part) -> Iterator[Row]:
        """Yields the answers to the questions of a part, in their order."""
        asked: deque[tuple[str | None, int]] = deque()  # identifier and place of what is being judged

        def questions() -> Iterator[Question | InputError]:
            for at, name, record in self._records(part):
                # JSON can encode half of a character, which no file of text can hold.
                asked.append((None if name is None else str(name).encode(errors="replace").decode(), at))
                try:
                    yield record if isinstance(record, InputError) else Question.from_json(record, self.judge.world)
                except InputError as error:
                    yield error.with_traceback(None)  # which would keep the record in memory

        reads_items = Input.ITEMS in self.judge.encoder.inputs and not isinstance(self.judge, EyesJudge)
        window = WINDOW if self.device == "cpu" else GPU_WINDOW
        batch = window if reads_items else PICTURE_WINDOW
        for answer in self.judge.stream(questions(), batch=batch, maps=False, readings=self.readings):
            name, at = asked.popleft()
            row: Row = {"identifier": name, "file": part.file, "at": at}
            is_error = isinstance(answer, InputError)
            names = ("probability", "verdict", "understood", *(("reading", "disputed") if self.readings else ()))
            row |= {name: None if is_error else getattr(answer, name) for name in names}
            yield row | {"error": str(answer) if is_error else None}

    def _counted(self, part: Part, counts: Counts, progress: Progress) -> Iterator[Row]:
        for row in self.rows(part):
            progress(row["at"] - part.start, part.stop - part.start)
            counts["questions"] += 1
            counts["true"] += row["verdict"] is True
            counts["malformed"] += row["error"] is not None
            counts["not_understood"] += row["understood"] is False
            yield row

    def _records(self, part: Part) -> Iterator[tuple[int, object, Found]]:
        """Yields each record of a part after its place and its identifier."""
        path = next(path for path in self.inputs if path.name == part.file)
        each = _parquet_rows(path, part) if _kind(path) == "parquet" else _json_lines(path, part)
        records = worlds.records(self.judge.world)
        return ((at, name, record) for at, value in each for name, record in records(value))

    def _schema(self) -> Any:
        pa = pyarrow()
        text, truth = pa.string(), pa.bool_()
        columns = [("identifier", text), ("file", text), ("at", pa.int64()), ("probability", pa.float64())]
        columns += [("verdict", truth), ("understood", truth)]
        columns += [("reading", text), ("disputed", truth)] if self.readings else []
        return pa.schema([*columns, ("error", text)])


def _json_lines(path: Path, part: Part) -> Iterator[tuple[int, Row | InputError]]:
    with files.opened(path) as stream:
        yield from files.json_objects(files.read_lines_between(stream, part.start, part.stop))


def _parquet_rows(path: Path, part: Part) -> Iterator[tuple[int, Row | InputError]]:
    """A row does not have what is null in it. Scenes can be JSON texts; images are bytes, or structs that hold them."""
    pa = pyarrow()
    with files.opened(path) as stream:
        table, first = open_parquet(stream, path), 0
        # Times, which no question has, cannot always be read without pandas.
        names = [each.name for each in table.schema_arrow if not pa.types.is_temporal(each.type)]
        window = PICTURE_WINDOW if "image" in names else WINDOW
        for group in range(table.num_row_groups):
            rows = table.metadata.row_group(group).num_rows
            at, first = first, first + rows
            if first <= part.start or at >= part.stop:
                continue
            for batch in parquet_batches(table, path, window, row_groups=[group], columns=names):
                low, high = max(part.start - at, 0), max(min(part.stop - at, len(batch)), 0)
                for number, row in enumerate(batch.slice(low, max(high - low, 0)).to_pylist(), at + low):
                    # As in JSON lines; a small file may hold texts of any length.
                    long = [name for name, value in row.items() if isinstance(value, str) and len(value) > MAX_LINE]
                    too_long = InputError(f"longer than {MAX_LINE:,} letters", where=long[0]) if long else None
                    yield number, too_long or _as_question(row)
                at += len(batch)
                if at >= part.stop:
                    return


def _as_question(row: Row) -> Row:
    found: Row = plain(row)
    if isinstance(image := found.get("image"), Mapping):
        del found["image"]
        found |= {"image": image["bytes"]} if image.get("bytes") is not None else {}
    for name, value in found.items():
        if isinstance(value, str) and value[:1] in ("[", "{") and name not in _TEXTS:
            with suppress(InputError):  # it is text
                found[name] = files.parse_json(value)
    return found


@contextmanager
def _rare_collections() -> Iterator[None]:
    """A window has a million objects: Python, left alone, looks through them for as long as it works with them."""
    before = gc.get_threshold()
    gc.set_threshold(*RARE_COLLECTIONS)
    try:
        yield
    finally:
        gc.set_threshold(*before)


# ---------------------------------------------------------------- many parts


class _Missing:
    """What the worker processes share: the parts without answers and, if networks run elsewhere, a judge."""

    def __init__(self, bulk: Bulk, parts: Sequence[Part], judge: Judge | None) -> None:
        self.bulk, self.parts, self.blocks, self.judge = bulk, parts, len(parts), judge

    def make(self, epoch: int, block: int) -> Counts:
        if self.judge is not None:
            self.bulk.__dict__["judge"] = self.judge
        return self.bulk.answer(self.parts[block])


def judge_missing(bulk: Bulk, shard: tuple[int, int], *, workers: int, progress: Progress = silent) -> dict[str, Any]:
    """Judges the parts of a shard that have no answers, in several processes, and returns what was done.

    `progress` gets the percentage of the shard that is done. One process alone uses all threads of the judge. On a GPU,
    this process runs the networks, and `workers` others do everything else.
    """
    if bulk.parts and bulk.device != "cpu" and not (bulk.out / JOB).exists():
        bulk.judge  # noqa: B018 - a device that cannot be used is found before anything is written
    parts, began = bulk.missing(shard), time.monotonic()
    total = len(bulk.parts[shard[0] :: shard[1]])
    counts = Counter(NOTHING)

    def report(finished: float) -> None:
        progress(int(100 * (total - len(parts) + finished)) // max(1, total), 100)

    if min(workers, len(parts)) < 2:
        for number, part in enumerate(parts):
            counts.update(bulk.answer(part, lambda done, of, number=number: report(number + done / of)))  # type: ignore[misc]
    else:
        with ExitStack() as stack:
            elsewhere = None if bulk.device == "cpu" else stack.enter_context(served(bulk.judge))
            processes = stack.enter_context(closing(Workers(_Missing(bulk, parts, elsewhere), workers)))
            processes.hint = "lower --workers"
            report(0)
            for each in processes.make(0, report):
                counts.update(each)
    report(len(parts))
    return {"parts": total, "judged_parts": len(parts), **counts, "seconds": round(time.monotonic() - began, 3)}


# ---------------------------------------------------------------- files


def _kind(path: Path) -> str:
    if path.suffix not in _SUFFIXES:
        raise InputError("unknown kind of file", where=path, allowed="its name must end in .jsonl, .json or .parquet")
    return _SUFFIXES[path.suffix]


def _size(path: Path) -> int:
    with files.opened(path):  # raises InputError if it cannot be read
        return path.stat().st_size


def _row_count(path: Path) -> int:
    """Of a Parquet file; raises InputError if it has no statements."""
    with files.opened(path) as stream:
        table = open_parquet(stream, path)
        if not any(name.startswith(_TEXTS[:2]) for name in table.schema_arrow.names):
            raise InputError("has no column statement", where=path, allowed="give statement and scene")
        return int(table.metadata.num_rows)


def _digest(model: str) -> str:
    """Of the files of a model, so that answers of different models are never mixed."""
    name = str(without_eyes(model))
    path = shipped_readers().get(name, Path(name))
    if path.is_file() and name not in shipped_checkpoints():
        return files.digest([path])
    folder = find(name)
    return files.digest(folder / each for each in DOWNLOADED if (folder / each).is_file())
