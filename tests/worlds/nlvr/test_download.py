"""The download accepts only the pinned bytes, continues after any failure, and never replaces a user's file."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from fake_github import Fake, serving

from veriscene.errors import InputError
from veriscene.worlds.nlvr import download
from veriscene.worlds.nlvr.download import Host, PinnedFile, pinned_files

TRAIN = b'{"sentence": "There is a black block.", "identifier": "1-0"}\n' * 4000
PUBLIC = {
    "nlvr/train/train.json": TRAIN,
    "nlvr/dev/dev.json": b'{"identifier": "2-0"}\n',
    "nlvr/test/test.json": b'{"identifier": "3-0"}\n',
    "nlvr/hidden/hidden.json": b'{"identifier": "4-0"}\n',
    **{
        f"lilgym/data/{kind}_scratch_{split}.json": json.dumps(
            {"7": {"sentence": f"{kind}  {split}", "lf": "exist(all_items)"}, "9": {"sentence": "é", "lf": "f(x)"}}
        ).encode()
        for kind in ("tower", "scatter")
        for split in ("train", "dev")
    },
}


def pin(path: str, content: bytes) -> PinnedFile:
    blob = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
    return PinnedFile("owner/name", "c0ffee", path, blob)


fetch = partial(download.fetch, files=[pin(path, content) for path, content in PUBLIC.items()])


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def github() -> Fake:
    return Fake(dict(PUBLIC))


@pytest.fixture
def host(github: Fake) -> Iterator[Host]:
    with serving(github) as host:
        yield host


def bars(update: Callable[[str, int, int], None]) -> download.Bars:
    return lambda name: nullcontext(partial(update, name))


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_the_shipped_table_pins_what_the_download_needs() -> None:
    files = pinned_files()
    assert {file.path for file in files} == set(PUBLIC)
    assert all(re.fullmatch(r"[0-9a-f]{40}", name) for file in files for name in (file.commit, file.blob))


def test_the_corpus_and_its_programs_arrive_once(github: Fake, host: Host, tmp_path: Path) -> None:
    folder, steps = tmp_path / "new" / "data", []
    first = fetch(folder, progress=bars(lambda *step: steps.append(step)), host=host)
    for split in ("train", "dev", "test", "hidden"):
        assert (folder / split / f"{split}.json").read_bytes() == PUBLIC[f"nlvr/{split}/{split}.json"]
    assert [json.loads(line) for line in (folder / "programs" / "dev.jsonl").read_text().splitlines()] == [
        {"sentence": "tower  dev", "kind": "tower", "program": "exist(all_items)"},
        {"sentence": "é", "kind": "tower", "program": "f(x)"},
        {"sentence": "scatter  dev", "kind": "scatter", "program": "exist(all_items)"},
        {"sentence": "é", "kind": "scatter", "program": "f(x)"},
    ]
    assert names(folder) == {path.relative_to(folder).as_posix() for path in first} and all(first.values())
    assert ("train/train.json", len(TRAIN), len(TRAIN)) in steps
    github.requests.clear()
    second = fetch(folder, host=host)
    assert github.requests == [] and set(second) == set(first) and not any(second.values())


def test_after_a_failure_the_next_call_fetches_only_what_is_missing(github: Fake, host: Host, tmp_path: Path) -> None:
    path, without_retry = "nlvr/train/train.json", replace(host, pauses=())
    github.cut_after[path] = 1000
    with pytest.raises(InputError, match=path):
        fetch(tmp_path, host=without_retry)
    there = names(tmp_path)
    assert not any(name.startswith("train/") for name in there)

    github.cut_after.clear()
    github.requests.clear()
    fetch(tmp_path, host=without_retry)
    assert path in github.requests and len(github.requests) == len(names(tmp_path) - there)
    assert (tmp_path / "train" / "train.json").read_bytes() == TRAIN


def test_passing_faults_are_retried_in_one_call(github: Fake, host: Host, tmp_path: Path) -> None:
    github.fails["nlvr/dev/dev.json"] = [503, 500]
    fetch(tmp_path, host=host)
    assert (tmp_path / "dev" / "dev.json").exists()


@pytest.mark.parametrize("content", [TRAIN[:-1] + b"!", TRAIN + b"more", TRAIN[:500]])
def test_other_content_is_refused_and_not_kept(github: Fake, host: Host, tmp_path: Path, content: bytes) -> None:
    github.files["nlvr/train/train.json"] = content
    with pytest.raises(InputError, match=rf"train\.json: .*{pin('', TRAIN).blob}"):
        fetch(tmp_path, host=host)
    assert not any(name.startswith("train/") for name in names(tmp_path))


@pytest.mark.parametrize("path", ["nlvr/dev/dev.json", "nlvr/train/train.json"])
def test_an_answer_that_is_too_long_is_not_read_to_its_end(
    path: str, github: Fake, host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "MAX_BYTES", 500_000)
    read: list[int] = []
    github.files[path] = bytes(10_000_000)
    with pytest.raises(InputError, match=pin(path, PUBLIC[path]).blob):
        fetch(tmp_path, progress=bars(lambda _, done, __: read.append(done)), host=host)
    assert max(read) < 1_000_000


@pytest.mark.parametrize("name", ["test/test.json", "programs/dev.jsonl"])
def test_a_users_own_file_is_kept(github: Fake, host: Host, tmp_path: Path, name: str) -> None:
    own = tmp_path / name
    own.parent.mkdir(parents=True)
    own.write_bytes(b"mine")
    with pytest.raises(InputError) as caught:
        fetch(tmp_path, host=host)
    assert caught.value.where == own and own.read_bytes() == b"mine"
    assert not any(path.startswith("nlvr/") for path in github.requests)


@pytest.mark.parametrize("statuses", [[404], [503, 503, 503]])
def test_refusals_are_one_clear_line(github: Fake, host: Host, tmp_path: Path, statuses: list[int]) -> None:
    github.fails["nlvr/dev/dev.json"] = statuses
    with pytest.raises(InputError, match=rf"nlvr/dev/dev\.json: .*{statuses[0]}") as failure:
        fetch(tmp_path, host=host)
    assert "\n" not in str(failure.value) and not statuses


def test_without_a_network_the_error_says_how_to_clone(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(InputError, match=url):
            fetch(tmp_path, host=Host(url=url, timeout=0.1, pauses=()))
    with pytest.raises(InputError, match=r"https://github\.com/lil-lab/nlvr") as failure:
        fetch(tmp_path, host=Host(url=url, pauses=(0.0,)))
    assert "\n" not in str(failure.value)


def test_disk_errors_are_one_clear_line(host: Host, tmp_path: Path) -> None:
    def full(name: str, done: int, total: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), name)

    with pytest.raises(InputError, match=os.strerror(errno.ENOSPC)):
        fetch(tmp_path, progress=bars(full), host=host)
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(InputError, match=os.strerror(errno.EEXIST)) as caught:
        fetch(tmp_path / "file", host=host)
    assert str(caught.value.where) == str(tmp_path / "file")
