"""Where examples come from: the public corpus, synthetic corpora, statistics of both."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from veriscene.errors import InputError
from veriscene.files import parse_json, read_text

DESCRIPTION = "corpus.json"  # in a corpus folder: how the corpus was made
SUPERVISION = ("labels", "synthetic", "programs")  # from weak to strong


def supervision(folder: str | Path) -> str:
    """What training on this corpus folder learns from; raises InputError if corpus.json is damaged."""
    path = Path(folder) / DESCRIPTION
    if not path.exists():
        return "labels"
    text = read_text(path)
    try:
        record = parse_json(text)
    except InputError as error:
        raise error.at(path) from None
    found = record.get("supervision") if isinstance(record, Mapping) else None
    if found not in SUPERVISION:
        raise InputError(f"supervision is {found!r:.60}", where=path, allowed=f"allowed: {', '.join(SUPERVISION)}")
    return str(found)
