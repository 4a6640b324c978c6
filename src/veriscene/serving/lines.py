"""Questions as JSON: a scene in a file, or examples as lines on a stream."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from veriscene.errors import InputError
from veriscene.files import read_text
from veriscene.scenes.scene import Scene, parse_scene
from veriscene.serving.judge import Judge
from veriscene.serving.onnx.judge import OnnxJudge


def read_scene_file(path: Path) -> Scene:
    """A scene out of a JSON file: NLVR's three boxes, or an object that holds them as `structured_rep`."""
    try:
        value = json.loads(read_text(path))
    except (ValueError, RecursionError):
        raise InputError(f"{path}: not JSON; it must be three boxes, or one object with structured_rep") from None
    try:
        return parse_scene(value.get("structured_rep") if isinstance(value, Mapping) else value)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def answers(judge: Judge | OnnxJudge, stream: Iterable[bytes], *, attention: bool = False) -> Iterator[dict[str, Any]]:
    """A record with the verdict for each line of the stream, as soon as it is judged.

    A line is an object with `sentence` (or `statement`) and `structured_rep`; an `identifier` comes back.
    """
    for number, line in enumerate(stream, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line.decode("utf-8-sig"))
            if not isinstance(record, Mapping):
                raise InputError("the line must be one JSON object with sentence and structured_rep")
            statement = record.get("sentence", record.get("statement"))
            verdict = judge(statement, parse_scene(record.get("structured_rep")))
        except (ValueError, RecursionError):
            raise InputError(f"standard input, line {number}: not JSON; each line must be one JSON object") from None
        except InputError as error:
            raise InputError(f"standard input, line {number}: {error}") from None
        name = {"identifier": record["identifier"]} if "identifier" in record else {}
        yield {**name, **verdict.to_json(attention=attention)}
