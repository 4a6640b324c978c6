"""Corpus folders: SPLIT/SPLIT.json for each split, perhaps world.toml and corpus.json, which says how it was made."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import mean

from veriscene.errors import InputError, located
from veriscene.files import parse_json, read_text
from veriscene.world.examples import Example, normalized
from veriscene.world.schema import World

SPLITS = ("train", "dev", "test", "hidden")
DESCRIPTION = "corpus.json"
SUPERVISION = ("labels", "synthetic", "programs")  # from weak to strong


def split_file(folder: str | Path, split: str) -> Path:
    """Returns the file of a split in a corpus folder: dev/dev.json or dev.json."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError("no such folder", where=folder, allowed=f"give the folder that holds {split}/{split}.json")
    candidates = [folder / split / f"{split}.json", folder / f"{split}.json"]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    allowed = f"looked for {' and '.join(map(str, candidates))}"
    raise InputError(f"has no {split} split", where=folder, allowed=allowed)


def split_files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yields the files among `paths`, and the splits of the corpus folders among them."""
    for path in paths:
        found = [] if path.is_dir() else [path]
        for split in SPLITS if path.is_dir() else ():
            with suppress(InputError):
                found.append(split_file(path, split))
        if not found:
            allowed = f"looked for {', '.join(f'{split}/{split}.json' for split in SPLITS)}"
            raise InputError("holds no corpus", where=path, allowed=allowed)
        yield from found


def supervision(folder: str | Path) -> str:
    """Returns what training on this corpus folder learns from; raises InputError if corpus.json is damaged."""
    path = Path(folder) / DESCRIPTION
    if not path.exists():
        return "labels"
    text = read_text(path)
    with located(path):
        record = parse_json(text)
    found = record.get("supervision") if isinstance(record, Mapping) else None
    if found not in SUPERVISION:
        raise InputError(f"supervision is {found!r:.60}", where=path, allowed=f"allowed: {', '.join(SUPERVISION)}")
    return str(found)


def share_of(examples: Sequence[Example], share: float, *, seed: int) -> list[Example]:
    """Returns the examples, in their order, of whole directories with at least that share of the presentations;
    examples without a directory are grouped by statement.

    Deterministic given the arguments. With the same seed, a smaller share is part of a larger one.
    """
    presentations: dict[str, set[str]] = {}  # of each group
    groups = [example.directory or f"statement {normalized(example.statement)}" for example in examples]
    for group, example in zip(groups, examples, strict=True):
        presentations.setdefault(group, set()).add(example.presentation)
    kept, wanted = set[str](), share * sum(map(len, presentations.values()))
    for group in random.Random(seed).sample(list(presentations), len(presentations)):
        if wanted <= 0:
            break
        kept.add(group)
        wanted -= len(presentations[group])
    return [example for group, example in zip(groups, examples, strict=True) if group in kept]


def describe(examples: Sequence[Example], world: World) -> dict[str, object]:
    """Returns named statistics, ready to be printed or written as JSON."""
    labels = [example.label for example in examples if example.label is not None]
    statements = Counter(normalized(example.statement) for example in examples)
    lengths = [len(statement.split()) for statement in statements]
    vocabulary = Counter(word for statement in statements for word in statement.split())
    boxes = [box for example in examples for box in example.scene.boxes]
    items = [item for box in boxes for item in box.items]
    facts: dict[str, object] = {
        "examples": len(examples),
        "labelled": len(labels),
        "true": f"{sum(labels) / len(labels):.1%}" if labels else "unknown",
        "presentations": len({example.presentation for example in examples}),
        "directories": len({example.directory for example in examples} - {None}),
        "different statements": len(statements),
        "words in a statement": {"least": min(lengths), "mean": mean(lengths), "most": max(lengths)},
        "vocabulary": len(vocabulary),
        "frequent words": " ".join(word for word, _ in vocabulary.most_common(20)),
    }
    if world.towers is not None:
        towers = sum(all(map(world.is_tower, example.scene.boxes)) for example in examples)
        facts["pictures"] = {"towers": towers, "scatter": len(examples) - towers}
    counts = Counter(len(box.items) for box in boxes)
    facts[f"{world.item.plural} in a {world.box.singular}"] = {str(n): count for n, count in sorted(counts.items())}
    for attribute in world.attributes:
        values = [item[attribute.name] for item in items]
        if attribute.kind == "numeric":
            numbers = [value for value in values if not isinstance(value, str)]
            found: object = {"least": min(numbers), "mean": mean(numbers), "most": max(numbers)} if numbers else {}
        else:
            found = {str(value): n for value, n in Counter(values).most_common()}
        facts[attribute.words[-1]] = found
    return facts
