from __future__ import annotations

import errno
import json
import socket
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from fake_github import Fake, serving

from veriscene.corpora.download import fetch
from veriscene.corpora.transfer import Host
from veriscene.errors import InputError

TRAIN = b'{"sentence": "There is a black block.", "identifier": "1-0"}\n' * 4000
NLVR = {
    "nlvr/train/train.json": TRAIN,
    "nlvr/dev/dev.json": b'{"identifier": "2-0"}\n',
    "nlvr/test/test.json": b'{"identifier": "3-0"}\n',
    "nlvr/hidden/hidden.json": b'{"identifier": "4-0"}\n',
    "nlvr/prediction.json": b"not part of the corpus",
    "nlvr/train/examples.html": b"neither is this",
    "nlvr2/data/train.json": b"nor this",
}
PICTURES = {
    f"nlvr/{split}/images/{number % 3}/{split}-{number}-0-0.png": f"{split} {number}".encode() * 99
    for split in ("train", "hidden")
    for number in range(30)
}
LILGYM = {
    f"lilgym/data/{kind}_{setting}_{split}.json": json.dumps(
        {"7": {"sentence": f"{kind}  {split}", "lf": "exist(all_items)"}, "9": {"sentence": "é", "lf": f"{setting}(x)"}}
    ).encode()
    for kind in ("tower", "scatter")
    for setting in ("scratch", "flipit")
    for split in ("train", "dev", "test")
}


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def github() -> Fake:
    return Fake({"lil-lab/nlvr": {**NLVR, **PICTURES}, "lil-lab/lilgym": LILGYM})


@pytest.fixture
def host(github: Fake) -> Iterator[Host]:
    with serving(github) as host:
        yield host


def names(folder: Path) -> set[str]:
    """The files that a user sees, .part files among them."""
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and ".listings" not in path.parts
    }


def test_the_whole_corpus_and_its_programs_arrive(github: Fake, host: Host, tmp_path: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    fetched = fetch(tmp_path / "new" / "data", progress=lambda *step: steps.append(step), host=host)

    folder = tmp_path / "new" / "data"
    for split in ("train", "dev", "test", "hidden"):
        assert (folder / split / f"{split}.json").read_bytes() == NLVR[f"nlvr/{split}/{split}.json"]
    programs = [json.loads(line) for line in (folder / "programs" / "dev.jsonl").read_text().splitlines()]
    assert programs == [
        {"sentence": "tower  dev", "kind": "tower", "program": "exist(all_items)"},
        {"sentence": "é", "kind": "tower", "program": "scratch(x)"},
        {"sentence": "scatter  dev", "kind": "scatter", "program": "exist(all_items)"},
        {"sentence": "é", "kind": "scatter", "program": "scratch(x)"},
    ]
    assert len((folder / "programs" / "train.jsonl").read_text().splitlines()) == 4
    assert names(folder) == {path.relative_to(folder).as_posix() for path in fetched.written}
    assert not fetched.present
    assert ("train/train.json", len(TRAIN), len(TRAIN)) in steps
    assert not any(path.endswith(".png") for path, _ in github.served)


def test_a_second_call_asks_for_nothing(github: Fake, host: Host, tmp_path: Path) -> None:
    first = fetch(tmp_path, images=True, host=host)
    github.served.clear()
    github.listed.clear()
    second = fetch(tmp_path, images=True, host=host)
    assert (github.served, github.listed) == ([], [])
    assert not second.written
    assert set(second.present) == set(first.written)


@pytest.mark.parametrize("knows_range", [True, False])
def test_a_broken_off_file_is_continued(github: Fake, host: Host, tmp_path: Path, knows_range: bool) -> None:
    path = "nlvr/train/train.json"
    github.cut_after[path] = 1000
    impatient = replace(host, pauses=())
    with pytest.raises(InputError, match="call again"):
        fetch(tmp_path, host=impatient)
    assert (tmp_path / "train" / "train.json.part").stat().st_size == 1000
    assert not (tmp_path / "train" / "train.json").exists()

    github.cut_after.clear()
    github.served.clear()
    github.knows_range = knows_range
    fetch(tmp_path, host=impatient)
    assert [asked for served, asked in github.served if served == path] == ["bytes=1000-"]
    assert (tmp_path / "train" / "train.json").read_bytes() == TRAIN
    assert not any(name.endswith(".part") for name in names(tmp_path))


def test_cuts_are_continued_within_one_call(github: Fake, host: Host, tmp_path: Path) -> None:
    github.cut_after["nlvr/train/train.json"] = len(TRAIN) // 2
    fetch(tmp_path, host=host)
    assert (tmp_path / "train" / "train.json").read_bytes() == TRAIN


@pytest.mark.parametrize("left", [b"x" * 1000, b"x" * len(TRAIN), b"x" * (len(TRAIN) + 1)])
def test_a_wrong_part_is_begun_again(host: Host, tmp_path: Path, left: bytes) -> None:
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "train.json.part").write_bytes(left)
    fetch(tmp_path, host=host)
    assert (tmp_path / "train" / "train.json").read_bytes() == TRAIN


@pytest.mark.parametrize("content", [TRAIN[:-1] + b"!", TRAIN + b"more"])
def test_corrupt_content_is_refused(github: Fake, host: Host, tmp_path: Path, content: bytes) -> None:
    github.served_instead["nlvr/train/train.json"] = content
    with pytest.raises(InputError, match=r"train\.json: the checksum is wrong"):
        fetch(tmp_path, host=host)
    assert not any(name.startswith("train/") for name in names(tmp_path))


def test_an_endless_answer_is_not_read_to_its_end(github: Fake, host: Host, tmp_path: Path) -> None:
    read: list[int] = []
    github.served_instead["nlvr/dev/dev.json"] = bytes(10_000_000)
    with pytest.raises(InputError, match="checksum is wrong"):
        fetch(tmp_path, progress=lambda _, done, __: read.append(done), host=host)
    assert max(read) < 1_000_000


@pytest.mark.parametrize("name", ["test/test.json", "programs/dev.jsonl", "hidden/images/0/hidden-0-0-0.png"])
def test_the_users_own_file_stays(github: Fake, host: Host, tmp_path: Path, name: str) -> None:
    own = tmp_path / name
    own.parent.mkdir(parents=True)
    own.write_bytes(b"mine")
    with pytest.raises(InputError, match=r"differs from the public .* move it away") as failure:
        fetch(tmp_path, images=True, host=host)
    assert name in str(failure.value)
    assert own.read_bytes() == b"mine"
    assert not any(path.startswith("nlvr/") for path, _ in github.served)


def test_pictures_come_through_the_pool(github: Fake, host: Host, tmp_path: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    fetch(tmp_path, images=True, progress=lambda *step: steps.append(step), host=host)
    for path, content in PICTURES.items():
        assert (tmp_path / path.removeprefix("nlvr/")).read_bytes() == content
    total = sum(map(len, PICTURES.values()))
    pictures = [done for name, done, whole in steps if name == "images" and whole == total]
    assert pictures == sorted(pictures)
    assert pictures[-1] == total


def test_one_bad_picture_stops_the_pool_and_the_rest_can_follow(github: Fake, host: Host, tmp_path: Path) -> None:
    bad = next(iter(PICTURES))
    github.served_instead[bad] = b"x" * len(PICTURES[bad])
    with pytest.raises(InputError, match="checksum is wrong"):
        fetch(tmp_path, images=True, host=host)
    assert not (tmp_path / bad.removeprefix("nlvr/")).exists()
    github.served_instead.clear()
    fetch(tmp_path, images=True, host=host)
    assert (tmp_path / bad.removeprefix("nlvr/")).read_bytes() == PICTURES[bad]


def test_a_range_past_the_end_begins_again(github: Fake, host: Host, tmp_path: Path) -> None:
    github.served_instead["nlvr/train/train.json"] = TRAIN[:500]
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "train.json.part").write_bytes(TRAIN[:1000])
    with pytest.raises(InputError, match="no whole answer"):
        fetch(tmp_path, host=host)
    github.served_instead.clear()
    fetch(tmp_path, host=host)
    assert (tmp_path / "train" / "train.json").read_bytes() == TRAIN


def test_a_token_goes_to_the_listings_only(github: Fake, host: Host, tmp_path: Path) -> None:
    fetch(tmp_path, host=replace(host, token="secret"))
    assert github.tokens == {"Bearer secret"}
    assert "secret" not in repr(replace(host, token="secret"))


def test_no_network_says_how_to_do_it_by_hand(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with pytest.raises(InputError, match=r"by hand: git clone https://github\.com/lil-lab/nlvr") as failure:
        fetch(tmp_path, host=Host(api=dead, raw=dead, pauses=(0.0,)))
    assert "\n" not in str(failure.value)


def test_a_silent_server_times_out(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        base = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(InputError, match="timed out"):
            fetch(tmp_path, host=Host(api=base, raw=base, timeout=0.1, pauses=()))


@pytest.mark.parametrize(
    ("path", "statuses", "message"),
    [
        ("nlvr/dev/dev.json", [404], r"nlvr/dev/dev\.json answered 404"),
        ("nlvr/dev/dev.json", [503, 503, 503], "answered 503"),
        ("listing", [403], "call again in 60 minutes"),
        ("listing", [404], "answered 404"),
    ],
)
def test_refusals_are_one_clear_line(
    github: Fake, host: Host, tmp_path: Path, path: str, statuses: list[int], message: str
) -> None:
    github.fails[path] = statuses
    with pytest.raises(InputError, match=message) as failure:
        fetch(tmp_path, host=host)
    assert "\n" not in str(failure.value)
    assert not statuses


def test_a_passing_fault_is_tried_again(github: Fake, host: Host, tmp_path: Path) -> None:
    github.fails |= {"nlvr/dev/dev.json": [503, 500], "listing": [502]}
    fetch(tmp_path, host=host)
    assert (tmp_path / "dev" / "dev.json").read_bytes() == NLVR["nlvr/dev/dev.json"]


def test_a_repository_without_the_corpus_is_refused(github: Fake, host: Host, tmp_path: Path) -> None:
    del github.repositories["lil-lab/nlvr"]["nlvr/test/test.json"]
    with pytest.raises(InputError, match=r"has no test/test\.json"):
        fetch(tmp_path, host=host)


@pytest.mark.parametrize("answer", [b"<html>log in</html>", b"[]", b'{"tree": [], "truncated": true}'])
def test_an_answer_that_is_no_listing_is_refused(host: Host, tmp_path: Path, answer: bytes) -> None:
    class Portal(Fake):
        def answer(self, request: BaseHTTPRequestHandler) -> None:
            self.send(request, 200, answer)

    with serving(Portal({})) as portal, pytest.raises(InputError, match="no listing"):
        fetch(tmp_path, host=portal)
    fetch(tmp_path, host=host)


def test_a_full_disk_is_one_clear_line(host: Host, tmp_path: Path) -> None:
    def full(name: str, done: int, total: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", name)

    with pytest.raises(InputError, match="No space left on device"):
        fetch(tmp_path, progress=full, host=host)


def test_a_file_in_place_of_the_folder_is_named(host: Host, tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(InputError, match="data"):
        fetch(tmp_path / "data", host=host)
