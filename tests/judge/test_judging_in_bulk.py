"""Bulk judging: every question has exactly one answer, whatever the parts, the shards, and who is killed when."""

from __future__ import annotations

import gc
import json
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import veriscene
from samples import yellow_circle_examples
from veriscene import files
from veriscene.data import tables
from veriscene.data.reader import CACHED, ProgramReader, Reading
from veriscene.english.grammar import draw
from veriscene.errors import InputError
from veriscene.judge import bulk as bulk_module
from veriscene.judge.bulk import Bulk, Part, judge_missing
from veriscene.judge.judge import Judge, Question, ReaderJudge, Verdict
from veriscene.world.examples import Example, to_record, write
from veriscene.worlds import language
from veriscene.worlds.nlvr.looks import WORLD

EXAMPLES = yellow_circle_examples(40)
OTHERS = yellow_circle_examples(17, seed=5)


@pytest.fixture(scope="module")
def judge() -> Judge:
    return veriscene.load("best")


def answers(folder: Path) -> list[dict[str, Any]]:
    """All answers, in the order of the files' names, read without this project."""
    found: list[dict[str, Any]] = []
    for path in sorted(folder.glob("part-*")):
        if path.suffix == ".parquet":
            found += pytest.importorskip("pyarrow.parquet").read_table(path).to_pylist()
        else:
            found += map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return found


def assert_answers(found: list[dict[str, Any]], examples: list[Example], judge: Judge) -> None:
    assert [row["identifier"] for row in found] == [example.identifier for example in examples]
    for row, verdict in zip(found, judge(examples), strict=True):
        assert isinstance(verdict, Verdict) and row["error"] is None
        assert row["probability"] == pytest.approx(verdict.probability, abs=1e-5)
        assert (row["verdict"], row["understood"]) == (verdict.verdict, verdict.understood)


def state(folder: Path) -> dict[str, tuple[int, int]]:
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in folder.iterdir()}


def test_shards_in_any_order_answer_all_files_of_a_folder_once(judge: Judge, tmp_path: Path) -> None:
    write(tmp_path / "in" / "a.json", EXAMPLES, WORLD)
    write(tmp_path / "in" / "b.jsonl", OTHERS, WORLD)
    (tmp_path / "in" / "notes.txt").write_text("no questions")
    bulk, out = Bulk("best", tmp_path / "in", tmp_path / "out", part=3), tmp_path / "out"
    assert len(bulk.parts) > 6
    done = [judge_missing(bulk, (shard, 3), workers=1) for shard in (2, 0, 1)]
    assert sum(each["questions"] for each in done) == len(EXAMPLES) + len(OTHERS)
    assert sum(each["judged_parts"] for each in done) == len(bulk.parts)
    assert_answers(answers(out), [*EXAMPLES, *OTHERS], judge)
    for row in answers(out):  # each tells its question
        content = (tmp_path / "in" / row["file"]).read_bytes()
        assert json.loads(content[row["at"] :].splitlines()[0])["identifier"] == row["identifier"]
    before = state(out)
    assert judge_missing(bulk, (0, 1), workers=2)["questions"] == 0 and state(out) == before
    next(out.glob("part-000002*")).unlink()
    assert judge_missing(bulk, (0, 2), workers=1)["judged_parts"] == 1  # with another number of shards
    assert_answers(answers(out), [*EXAMPLES, *OTHERS], judge)


def test_every_malformed_question_has_an_error_in_its_place(tmp_path: Path) -> None:
    good = json.dumps(to_record(EXAMPLES[0], WORLD)).encode()
    no_scene, half = b'{"sentence": "There is a circle.", "identifier": "7-7"}', good.replace(b'"0-0"', b'"\\ud800"')
    lines = [good, b"", b"[]", b'{"sentence": "Cut', no_scene, b"\xff\xfe", half, good.replace(b"There", b""), good]
    (tmp_path / "in.jsonl").write_bytes(b"\r\n".join(lines))
    for kind in tables.FORMATS:
        if kind == "parquet":
            pytest.importorskip("pyarrow")
        bulk = Bulk("best", tmp_path / "in.jsonl", tmp_path / kind, format=kind, readings=True, part=1)
        done, found = judge_missing(bulk, (0, 1), workers=1), answers(tmp_path / kind)
        assert [row["error"] is None for row in found] == [True, *[False] * 4, *[True] * 3]
        assert [row["identifier"] for row in found] == ["0-0", None, None, "7-7", None, "?", "0-0", "0-0"]
        assert all(row["verdict"] is None and row["probability"] is None for row in found[1:5])
        assert WORLD.scene_field in found[3]["error"] and found[0]["reading"] == found[-1]["reading"] is not None
        assert (done["questions"], done["malformed"]) == (8, 4)


def test_parquet_with_any_row_groups_is_answered_as_json_lines(judge: Judge, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    rows = [tables.row(example, "dev", WORLD, images=False) for example in EXAMPLES]
    texts = [row | {"scene": json.dumps(row["scene"])} for row in rows]
    for name, given, size in (("nested", rows, 7), ("text", texts, 100)):
        pyarrow.parquet.write_table(pa.Table.from_pylist(given), tmp_path / f"{name}.parquet", row_group_size=size)
        bulk = Bulk("best", tmp_path / f"{name}.parquet", tmp_path / name, part=9)
        judge_missing(bulk, (0, 1), workers=1)
        assert_answers(answers(tmp_path / name), EXAMPLES, judge)
        assert [row["at"] for row in answers(tmp_path / name)] == list(range(len(EXAMPLES)))
        assert {path.suffix for path in (tmp_path / name).glob("part-*")} == {".parquet"}
    pyarrow.parquet.write_table(pa.table({"text": ["a"]}), tmp_path / "other.parquet")
    with pytest.raises(InputError) as refused:
        judge_missing(Bulk("best", tmp_path / "other.parquet", tmp_path / "no"), (0, 1), workers=1)
    assert refused.value.where == tmp_path / "other.parquet" and not (tmp_path / "no").exists()


def test_another_world_whose_lines_have_several_statements(tmp_path: Path) -> None:
    item = {"shape": "square", "color": "red", "shade": 0.0, "x": 0.5, "y": 0.5, "rotation": 0.0}
    item |= {"half_width": 0.1, "half_height": 0.1}
    statements = [{"text": "A square is red."}, "malformed", {"text": "There is a blue circle."}, {"text": ""}]
    lines: list[Any] = [{"identifier": "s-1", "items": [item], "statements": statements}]
    lines += [{"items": [item | {"x": "wide"}], "statements": statements}]
    lines += [{**lines[0], "statements": {}}]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, lines)))
    bulk = Bulk("shapeworld", tmp_path / "in.jsonl", tmp_path / "out")
    assert isinstance(bulk.judge, ReaderJudge)
    done, found = judge_missing(bulk, (0, 1), workers=1), answers(tmp_path / "out")
    assert [row["verdict"] for row in found] == [True, None, False, *[None] * 6]
    assert [row["identifier"] for row in found] == ["s_1-0", "s_1-1", "s_1-2", "s_1-3", *[None] * 4, "s-1"]
    assert [(row["error"] or "").split(" ")[0] for row in found[:4]] == ["", "statement", "", "statement:"]
    assert (done["questions"], done["malformed"]) == (9, 7)


def test_a_killed_command_is_finished_by_a_rerun(judge: Judge, tmp_path: Path) -> None:
    examples = [replace(example, identifier=f"{copy}-{n}") for copy in range(9) for n, example in enumerate(EXAMPLES)]
    write(tmp_path / "in.json", examples, WORLD)
    command = [sys.executable, "-m", "veriscene", "judge", "best", "in.json", "out", "--part", "8", "--workers", "2"]
    out = tmp_path / "out"
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, start_new_session=True) as running:
        deadline = time.monotonic() + 120
        while len([*out.glob("part-*.jsonl")]) < 3 and time.monotonic() < deadline:
            assert running.poll() is None
            time.sleep(0.02)
        os.kill(running.pid, signal.SIGKILL)
    time.sleep(2)  # its workers end by themselves, after their part
    before = state(out)
    count = len(Bulk("best", tmp_path / "in.json", out, part=8).parts)
    assert 3 <= len(before) - 1 < count
    (out / f"part-{count - 1:06}.jsonl.123.partial").write_text(
        '{"ident'
    )  # of a process that was killed while it wrote
    done = subprocess.run([*command, "--json"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    judged = json.loads(done.stdout)
    assert judged["judged_parts"] == count - sum(name.startswith("part-") for name in before)
    assert before.items() <= state(out).items()
    assert_answers(answers(out), examples, judge)


def test_two_commands_may_judge_the_same_part(judge: Judge, tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", EXAMPLES, WORLD)
    faster = Bulk("best", tmp_path / "in.jsonl", tmp_path / "out")

    class Slower(Bulk):
        def rows(self, part: Part) -> Iterator[dict[str, Any]]:
            for number, row in enumerate(super().rows(part)):
                if number == 1:
                    shutil.copy(next(self.out.glob("*.partial")), self.out / "part-000000.jsonl.1.partial")
                    faster.answer(part)
                yield row

    slower = Slower("best", faster.source, faster.out)
    (part,) = slower.missing()
    slower.answer(part)
    assert not slower.missing() and not list(faster.out.glob("*.partial"))
    assert_answers(answers(faster.out), EXAMPLES, judge)


def test_a_reader_alone_says_which_device_is_missing() -> None:
    with pytest.raises(InputError) as caught:
        veriscene.load("shapeworld", device="banana")
    assert caught.value.where == "device 'banana'"


def test_answers_of_other_questions_are_not_mixed(tmp_path: Path) -> None:
    write(tmp_path / "in.jsonl", EXAMPLES, WORLD)
    bulk = Bulk("best", tmp_path / "in.jsonl", tmp_path / "out")
    bulk.missing()
    pickle.loads(pickle.dumps(bulk)).missing((1, 2))
    assert Bulk("./" + os.path.relpath(veriscene.judge.folders.find("best")), bulk.source, tmp_path / "2").missing()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes").touch()
    write(tmp_path / "longer.jsonl", [*EXAMPLES, *OTHERS], WORLD)
    others = [
        replace(bulk, model="biatt-pointer"),
        replace(bulk, part=9),
        replace(bulk, readings=True),
        replace(bulk, source=tmp_path / "longer.jsonl"),
        replace(bulk, out=tmp_path / "mine"),
        replace(bulk, out=tmp_path),
        replace(bulk, source=tmp_path / "mine"),
        replace(bulk, source=tmp_path / "none.jsonl"),
        replace(bulk, format="csv"),
    ]
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for other in others:
        with pytest.raises(InputError):
            other.missing()
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


class Constant(Judge):
    """Answers at once."""

    def __init__(self, like: Judge) -> None:
        self.encoder, self.order = like.encoder, like.order

    def _judge(self, questions: list[Question], *, maps: bool = True, readings: bool = True) -> list[Verdict]:
        assert not maps and len(questions) <= bulk_module.WINDOW
        return [Verdict(0.7, None, None, None, {}) for _ in questions]


def test_memory_does_not_grow_with_the_questions(judge: Judge, tmp_path: Path) -> None:
    line = json.dumps(to_record(EXAMPLES[0], WORLD)) + "\n"
    peaks = []
    for name, count in (("warm", 100), ("few", 3000), ("many", 12000)):
        (tmp_path / f"{name}.jsonl").write_text(line * count)  # identifiers may repeat
        bulk = Bulk("best", tmp_path / f"{name}.jsonl", tmp_path / name, part=1000)
        bulk.__dict__["judge"] = Constant(judge)
        tracemalloc.start()
        assert judge_missing(bulk, (0, 1), workers=1)["questions"] == count
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 1.1 * peaks[1]


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_garbage_is_rarely_collected_while_a_part_is_judged_and_as_usual_after_it(
    kind: str, judge: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    usual, seen = gc.get_threshold(), list[tuple[int, int, int]]()
    rows = Bulk.rows

    def watched(bulk: Bulk, part: Part) -> Iterator[dict[str, Any]]:
        for row in rows(bulk, part):
            seen.append(gc.get_threshold())
            yield row

    monkeypatch.setattr(Bulk, "rows", watched)
    write(tmp_path / "in.jsonl", OTHERS, WORLD)
    (tmp_path / "out").mkdir()
    bulk = Bulk("best", tmp_path / "in.jsonl", tmp_path / "out", format=kind)
    bulk.answer(bulk.parts[0])
    assert set(seen) == {bulk_module.RARE_COLLECTIONS} and len(seen) == len(OTHERS)
    assert gc.get_threshold() == usual


def test_a_stream_without_maps_has_the_same_verdicts(judge: Judge) -> None:
    def questions() -> Iterator[Example | InputError]:
        yield from EXAMPLES[:20]
        yield InputError("no question")

    *plain, error = judge.stream(questions(), maps=False)
    assert isinstance(error, InputError)
    for verdict, expected in zip(plain, judge(EXAMPLES[:20]), strict=True):
        assert isinstance(verdict, Verdict) and isinstance(expected, Verdict)
        assert verdict.attention is None and verdict.order is None and expected.attention is not None
        assert verdict.probability == pytest.approx(expected.probability, abs=1e-6)
        assert replace(verdict, probability=0, attention=None) == replace(expected, probability=0, attention=None)


def test_columns_and_fields_that_other_tools_leave_do_not_spoil_a_question(judge: Judge, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    given = []
    for example in EXAMPLES[:5]:
        record = to_record(example, WORLD)
        record[WORLD.scene_field] = [[{**item, "extra": None} for item in box] for box in record[WORLD.scene_field]]
        given.append({**record, "note": "[sic]", "image": {"bytes": None, "path": "none.png"}})
    table = pa.Table.from_pylist(given).append_column("when", pa.array([1] * 5, pa.timestamp("ns")))
    pyarrow.parquet.write_table(table, tmp_path / "given.parquet")
    judge_missing(Bulk("best", tmp_path / "given.parquet", tmp_path / "out"), (0, 1), workers=1)
    assert_answers(answers(tmp_path / "out"), EXAMPLES[:5], judge)


def test_a_text_of_any_length_in_a_parquet_file_is_malformed(judge: Judge, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    rows = [tables.row(example, "dev", WORLD, images=False) for example in EXAMPLES[:3]]
    rows[1]["statement"] = "a " * (16 << 20)  # a few kilobytes of the file
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "long.parquet", compression="zstd")
    started = time.process_time()
    judge_missing(Bulk("best", tmp_path / "long.parquet", tmp_path / "out"), (0, 1), workers=1)
    assert ["longer" in (row["error"] or "") for row in answers(tmp_path / "out")] == [False, True, False]
    assert time.process_time() < started + 10


def test_malformed_pictures_are_not_kept_in_memory(judge: Judge) -> None:
    questions = (("a", np.zeros((400, 1600, 3), np.uint8)) for _ in range(60))
    tracemalloc.start()
    refused = sum(isinstance(answer, InputError) for answer in judge.stream(questions, batch=60))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert refused == 60 and peak < 20 * 400 * 1600 * 3


def test_answers_in_bulk_are_those_of_questions_asked_one_by_one(judge: Judge, tmp_path: Path) -> None:
    """For any mixture of statements in dialect, plain ones, ones that are about nothing, and malformed lines."""
    rng = random.Random(3)
    texts = [draw(rng, language(WORLD)).text for _ in range(20)]
    texts += ["Is any circle bigger than the others?", "what a lovely day", "There is a zorkyblk circle"]
    for number in range(3):
        lines = []
        for example in rng.sample(EXAMPLES, 25):
            record = to_record(example, WORLD)
            record["sentence"] = rng.choice([record["sentence"], *rng.sample(texts, 3)])
            spoil = rng.choice(["", "", "statement", "item", "overlap", "json"])
            boxes: Any = record[WORLD.scene_field]
            full = next(box for box in boxes if box)
            if spoil == "item":
                full[0]["size"] = rng.choice([True, 7, [20], None])
            elif spoil == "overlap":
                full.append(full[0])
            record |= {"sentence": ["no text"]} if spoil == "statement" else {}
            lines.append(json.dumps(record)[: 40 if spoil == "json" else None])
        (tmp_path / f"{number}.jsonl").write_text("\n".join(lines))
        for readings in (False, True):
            source, out = tmp_path / f"{number}.jsonl", tmp_path / f"{number}{readings}"
            bulk = Bulk("best", source, out, readings=readings, part=4)
            bulk.__dict__["judge"] = judge
            judge_missing(bulk, (0, 1), workers=1)
            for line, row in zip(lines, answers(bulk.out), strict=True):
                try:
                    alone = judge(Question.from_json(files.json_object(line), WORLD))
                except InputError as error:
                    assert row["error"] == str(error) and row["verdict"] is row["probability"] is None
                    continue
                assert row["error"] is None
                assert row["probability"] == pytest.approx(alone.probability, abs=1e-6)
                told = [alone.verdict, alone.understood, *([alone.reading, alone.disputed] if readings else [])]
                assert [row[name] for name in ("verdict", "understood", "reading", "disputed") if name in row] == told


def test_a_reader_remembers_the_most_recent_statements_only(judge: Judge) -> None:
    class Shallow(ProgramReader):
        asked: list[str]

        def _read(self, statements: Sequence[str], brief: Collection[str]) -> list[Reading]:
            self.asked += statements
            return [Reading(None, 1, 1, 0, text in brief) for text in statements]

    assert judge.reader is not None
    reader = Shallow(judge.reader.config, judge.reader.words, judge.reader.tokens, judge.reader.language)
    reader.asked = []
    for start in range(0, 3 * CACHED, CACHED // 2):
        reader.read(["again", *map(str, range(start, start + CACHED // 2)), "again"], brief=["again"])
        assert len(reader._known) <= CACHED
    assert reader.asked.count("again") == 1 and len(reader.asked) == 3 * CACHED + 1
    assert not reader.read(["again"])[0].is_brief and reader.asked[-1] == "again"
