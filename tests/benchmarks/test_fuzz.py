"""What fuzzing has found, and that every valid input is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("fastapi")

from scripts import script
from veriscene.errors import InputError
from veriscene.judge import sessions

fuzz = script("torture/fuzz")
FINDINGS = {
    "number of 5,000 digits": ("world file", lambda valid: valid.replace(b"[120, 40]", b"[" + b"9" * 5000 + b", 40]")),
    "value that cannot be looked up": (
        "world tree",
        lambda valid: valid.replace(b'"towers": {', b'"towers": {"shape": {}, '),
    ),
    "name of 5,000 letters": ("summary.json", lambda valid: valid.replace(b"seed1", b"seed" + b"0" * 5000)),
    "deep nesting": ("summary.json", lambda valid: valid.replace(b"[1, 2]", b"[" * 100_000)),
    "half a character in a path": ("spec.json", lambda valid: valid.replace(b'"corpus": "', b'"corpus": "\\ud800')),
    "path with a long name": ("spec.json", lambda valid: valid.replace(b'"corpus": "', b'"corpus": "' + b"a" * 300)),
    "initial model is a number": ("spec.json", lambda valid: valid.replace(b'"initial": null', b'"initial": 5')),
    "endless seed": ("spec.json", lambda valid: valid.replace(b'"seeds": []', b'"seeds": [Infinity]')),
    "loss of 400 digits": ("log.jsonl", lambda valid: valid.replace(b'"loss": ', b'"loss": 1' + b"0" * 400)),
    "NUL in the name of a scene": ("CSV", lambda valid: valid.replace(b"1.json", b"\0.json")),
    "name that is not UTF-8": ("ONNX", lambda valid: valid.replace(b"logits", b"logit\xff")),
    "null as a word": ("ONNX metadata", lambda valid: valid.replace(b'"<unk>"', b'"<unk>", null')),
    "accuracy is text": (
        "metrics.json",
        lambda valid: valid.replace(b'"dev_accuracy": ', b'"dev_accuracy": "x", "y": '),
    ),
    "accuracy beyond the largest number": (
        "metrics.json",
        lambda valid: valid.replace(b'"dev_accuracy": ', b'"dev_accuracy": 1e999, "y": '),
    ),
    "reader of other sizes": ("reader.safetensors", lambda valid: valid.replace(b'dim\\": 4', b'dim\\": 8')),
}


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from readers import targets

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sessions, "try_opening", sessions.try_opening)  # which targets replaces
        yield targets(tmp_path_factory.mktemp("fuzz"))


def test_valid_inputs_are_read(readers: Any) -> None:
    for target in readers.values():
        for content in target.inputs:
            target.read(content)


@pytest.mark.parametrize("finding", FINDINGS)
def test_past_findings_are_refused_or_read(finding: str, readers: Any) -> None:
    name, damage = FINDINGS[finding]
    damaged = [damage(content) for content in readers[name].inputs]
    assert any(content not in readers[name].inputs for content in damaged), "the damage fits no valid input any more"
    for content in damaged:
        with suppress(InputError):
            readers[name].read(content)


@pytest.mark.parametrize(
    "changes",
    [{"labels": np.arange(4)}, {"statements": np.arange(4.0)}, {"statements": np.arange(4, 8, dtype=np.int32)}],
    ids=["labels are numbers", "statements are fractions", "statements do not exist"],
)
def test_a_teachers_cache_of_wrong_types_is_made_again(changes: dict[str, Any], tmp_path: Path) -> None:
    from readers import made_arrays

    from veriscene import files
    from veriscene.data.teacher.maker import Store
    from veriscene.worlds.nlvr.looks import WORLD

    store, file = Store(WORLD, [b""], statements=4), tmp_path / "epoch-0.npz"
    np.savez(file, **made_arrays(**changes))
    with pytest.raises(files.DAMAGED):
        store.read(file)
    np.savez(file, **made_arrays())
    assert len(store.read(file).labels) == 4
    np.savez_compressed(file, **made_arrays(more=np.zeros(10**6)))
    with pytest.raises(files.DAMAGED):
        store.read(file)
