"""Reads are bounded, writes are atomic, and a folder that could not be filled is removed again."""

from __future__ import annotations

import errno
import io
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from veriscene import files
from veriscene.errors import InputError

# ---------------------------------------------------------------- reading


def test_an_endless_file_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        files.read_text(Path("/dev/zero"), limit=1000)
    assert refused.value.where == Path("/dev/zero") and "1,000" in str(refused.value.allowed)
    (tmp_path / "exact").write_bytes(b"x" * 1000)
    assert files.read_text(tmp_path / "exact", limit=1000) == "x" * 1000


def test_a_line_that_is_too_long_is_one_error_and_the_next_is_read() -> None:
    longest = b"x" * files.MAX_LINE
    stream = io.BytesIO(b"\xef\xbb\xbfone\n" + longest + b"\n" + longest + b"xx\n" + b"\n" + longest * 3)
    lines = list(files.read_lines(stream))
    assert [number for number, _ in lines] == [1, 2, 3, 4, 5]
    assert [line.strip() if isinstance(line, str) else "error" for _, line in lines] == [
        *("one", longest.decode(), "error", "", "error")
    ]


@given(st.lists(st.binary(max_size=9), max_size=9).map(b"\n".join), st.integers(1, 12))
def test_ranges_of_a_file_share_no_line_and_have_all(content: bytes, step: int) -> None:
    ranges = [(start, start + step) for start in range(0, len(content), step)]
    found = [each for start, stop in ranges for each in files.read_lines_between(io.BytesIO(content), start, stop)]
    lines = list(io.BytesIO(content))
    starts = [sum(map(len, lines[:number])) for number in range(len(lines))]
    assert [at for at, _ in found] == starts
    for (_, text), line in zip(found, lines, strict=True):
        assert isinstance(text, InputError) or text.encode() in (line, line.removeprefix(b"\xef\xbb\xbf"))


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_lines_of_a_device_end_with_one_error(device: str) -> None:
    with files.opened(Path(device)) as stream:
        lines = list(files.read_lines(stream))
    assert [number for number, line in lines if isinstance(line, InputError)] == [len(lines)]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "'c'"),
        ("[NaN]", "NaN"),
        ("-Infinity", "-Infinity"),
        ('{"a":' * 100_000, "nested"),
        ("9" * 5000, "digits"),
        ('{"a": "b', "cut off"),
        ('{"a": 1', "cut off"),
        ("{'a': 1}", "column 2"),
    ],
)
def test_json_that_programs_read_differently_is_refused(text: str, named: str) -> None:
    with pytest.raises(InputError, match=named):
        files.parse_json(text)


def test_reading_a_strangers_tensors_leaves_torch_as_it_was(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.save({"x": torch.ones(2)}, tmp_path / "good.pt")
    torch.save({"x": io.BytesIO()}, tmp_path / "bad.pt")
    assert files.load_torch(tmp_path / "good.pt")["x"].tolist() == [1, 1]
    with pytest.raises(pickle.UnpicklingError):
        files.load_torch(tmp_path / "bad.pt")
    assert torch._weights_only_unpickler.UnpicklingError is pickle.UnpicklingError


# ---------------------------------------------------------------- writing


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "elsewhere" / "real.csv", tmp_path / "link.csv"
    real.parent.mkdir()
    real.write_text("old")
    link.symlink_to(real)
    files.write_text(link, "new\n")
    assert link.is_symlink() and real.read_text() == "new\n"
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["elsewhere", "link.csv", "real.csv"]


def test_pipes_and_standard_output_are_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received: list[str] = []
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
    reader.start()
    files.write_text(pipe, "through\n")
    reader.join(timeout=10)
    assert received == ["through\n"] and pipe.is_fifo()
    command = "from pathlib import Path; from veriscene import files; files.write_text(Path('/dev/stdout'), 'text')"
    assert subprocess.run([sys.executable, "-c", command], capture_output=True, check=True).stdout == b"text"


def full_disk(monkeypatch: pytest.MonkeyPatch, after: int = 0) -> None:
    """Every write to a file fails, once `after` files have been written; half of the file is on the disk by then."""
    write_bytes, written = Path.write_bytes, []

    def write(self: Path, content: bytes) -> Any:
        written.append(self)
        if len(written) <= after:
            return write_bytes(self, content)
        write_bytes(self, content[: len(content) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))

    monkeypatch.setattr(Path, "write_bytes", write)


def test_a_failed_write_keeps_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "kept.csv"
    files.write_text(file, "old")
    with pytest.raises(InputError):
        files.write_text(tmp_path, "this is a folder")
    full_disk(monkeypatch)
    with pytest.raises(InputError) as full:
        files.write_text(file, "new")
    assert full.value.where == file and os.strerror(errno.ENOSPC) in full.value.what
    assert file.read_text() == "old" and list(tmp_path.iterdir()) == [file]


# ---------------------------------------------------------------- folders


def fill(folder: Path, error: BaseException | None = None) -> None:
    with files.created(folder, fill=["below", "file.json"], hint="do something else"):
        files.write_text(folder / "below" / "half.json", "{")
        files.write_text(folder / "file.json", "{}")
        if error is not None:
            raise error


@pytest.mark.parametrize("error", [InputError("the labels are all true"), KeyboardInterrupt(), OSError(13, "denied")])
def test_a_failure_removes_what_was_created_and_nothing_else(error: BaseException, tmp_path: Path) -> None:
    beside = tmp_path / "runs" / "beside.txt"
    beside.parent.mkdir()
    beside.write_text("kept")
    (tmp_path / "empty").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    before = sorted(tmp_path.rglob("*"))
    for name in ("new", "some/where/new", "runs/new", "empty", "link"):
        with pytest.raises(type(error)):
            fill(tmp_path / name, error)
        assert sorted(tmp_path.rglob("*")) == before
    assert beside.read_text() == "kept"
    fill(tmp_path / "some/where/new")
    assert (tmp_path / "some/where/new/below/half.json").exists()


@pytest.mark.parametrize("after", [0, 1])
def test_a_full_disk_leaves_no_folder(after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full_disk(monkeypatch, after)
    with pytest.raises(InputError) as full:
        fill(tmp_path / "deep" / "new")
    assert os.strerror(errno.ENOSPC) in full.value.what and list(tmp_path.iterdir()) == []


def test_a_failure_keeps_everything_once_there_is_more_than_the_beginning(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt), files.created(folder, fill=["run.json"], hint=""):
        files.write_text(folder / "run.json", "{}")
        files.write_text(folder / "best" / "config.json", "{}")
        raise KeyboardInterrupt
    assert sorted(path.name for path in folder.iterdir()) == ["best", "run.json"]


def test_a_file_system_without_locks_works_and_other_failures_are_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_with(number: int) -> None:
        def flock(*arguments: object) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr("fcntl.flock", flock)

    fail_with(errno.ENOLCK)
    fill(tmp_path / "new")
    fail_with(errno.EIO)
    with pytest.raises(InputError) as refused, files.locked(tmp_path / "new"):
        pytest.fail("it is not locked")
    assert refused.value.where == tmp_path / "new"


def test_existing_and_locked_folders_are_not_touched(tmp_path: Path) -> None:
    fill(tmp_path / "full")
    before = sorted(tmp_path.rglob("*"))
    for taken in (tmp_path / "full", tmp_path / "full" / "file.json"):
        with pytest.raises(InputError) as refused:
            fill(taken)
        assert (refused.value.where, refused.value.allowed) == (taken, "do something else")
    with pytest.raises(InputError):
        fill(tmp_path / "full" / "file.json" / "below")
    with files.created(tmp_path / "locked", fill=[], hint=""), pytest.raises(InputError) as refused:
        fill(tmp_path / "locked")
    assert refused.value.where == tmp_path / "locked"
    assert sorted(tmp_path.rglob("*")) == sorted([*before, tmp_path / "locked"])


def test_a_corpus_that_could_not_be_written_can_be_written_by_the_same_command_later(tmp_path: Path) -> None:
    command = f"{sys.executable} -m veriscene data synth deep/corpus --statements 40 --level simple"

    def run(limit: str) -> subprocess.CompletedProcess[str]:
        shell = f"ulimit -f {limit}; exec {command}"  # the size of a file, in kilobytes
        return subprocess.run(["bash", "-c", shell], cwd=tmp_path, capture_output=True, text=True, timeout=120)

    failed = run("8")
    assert failed.returncode == 1 and os.strerror(errno.EFBIG) in failed.stderr
    assert failed.stderr.count("\n") == 1 and list(tmp_path.iterdir()) == []
    assert run("unlimited").returncode == 0
    assert (tmp_path / "deep/corpus/train/train.json").stat().st_size > 8 * 1024


def test_what_a_killed_process_left_does_not_keep_a_folder_from_being_replaced(tmp_path: Path) -> None:
    for number in (os.getpid(), 1):  # process numbers repeat in containers
        (tmp_path / f"last.{number}.partial" / "sub").mkdir(parents=True)
    with files.replacing(tmp_path / "last") as partial:
        (partial / "file").write_text("new")
    assert [path.name for path in tmp_path.iterdir()] == ["last"]
    assert (tmp_path / "last" / "file").read_text() == "new"


KILL_POINTS = ("mkdir", "fsync", "rename", "rmdir", "unlink")


@pytest.mark.parametrize("point", KILL_POINTS)
@pytest.mark.parametrize("number", range(4))
def test_a_kill_at_any_moment_leaves_the_old_or_the_new_folder_and_the_next_write_succeeds(
    point: str, number: int, tmp_path: Path
) -> None:
    """The process is killed in its n-th call of a system function, while it replaces a folder of two files."""
    folder = tmp_path / "last"
    script = f"""
import os, signal
from pathlib import Path
from veriscene import files

def write(text):
    with files.replacing(Path({str(folder)!r})) as partial:
        for name in ("a", "b"):
            (partial / name).write_text(text)

write("old")
calls, plain = 0, os.{point}
def call(*arguments, **settings):
    global calls
    calls += 1
    if calls == {number} + 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return plain(*arguments, **settings)
os.{point} = call
write("new")
"""
    for _ in range(2):  # also if what an earlier kill left is still there
        assert subprocess.run([sys.executable, "-c", script], timeout=60).returncode in (0, -signal.SIGKILL)
        found = files.present(folder)
        assert found is not None
        assert {(found / name).read_text() for name in ("a", "b")} in ({"old"}, {"new"})
    with files.replacing(folder) as partial:
        (partial / "a").write_text("newest")
    assert [path.name for path in tmp_path.iterdir()] == ["last"]
    assert (folder / "a").read_text() == "newest"


def test_a_leftover_previous_folder_is_removed_only_while_the_folder_is_complete(tmp_path: Path) -> None:
    for name in ("last", "last.previous"):  # as a kill leaves them that hits the removal of the previous folder
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    with pytest.raises(KeyboardInterrupt), files.replacing(tmp_path / "last"):
        raise KeyboardInterrupt
    assert (tmp_path / "last" / "file").read_text() == "last"
    shutil.rmtree(tmp_path / "last.previous")
    (tmp_path / "last").rename(tmp_path / "last.previous")  # as a kill between the two renames leaves it
    with pytest.raises(KeyboardInterrupt), files.replacing(tmp_path / "last"):
        raise KeyboardInterrupt
    found = files.present(tmp_path / "last")
    assert found is not None and (found / "file").read_text() == "last"


def test_a_folder_keeps_its_name_if_the_new_one_cannot_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, rename = tmp_path / "folder", Path.rename

    def fail(self: Path, target: Path) -> Path:
        if self.name.endswith(".partial"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return rename(self, target)

    with files.replacing(folder) as partial:
        (partial / "content").write_text("old")
    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(InputError, match=os.strerror(errno.EIO)), files.replacing(folder) as partial:
        (partial / "content").write_text("new")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"] and (folder / "content").read_text() == "old"


def test_without_fcntl_as_on_windows_folders_are_used_without_a_lock(tmp_path: Path) -> None:
    code = """
import sys
sys.modules["fcntl"] = None
from pathlib import Path
import veriscene.cli.app
from veriscene import files, load
with files.locked(Path()), files.created(Path("new"), fill=["file"], hint=""):
    files.write_text(Path("new") / "file", "content")
item = {"x_loc": 0, "y_loc": 0, "size": 10, "type": "square", "color": "Black"}
print(load("best")("There is a circle.", [[item], [item], [item]]).verdict, "torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "False False\n", done.stderr
