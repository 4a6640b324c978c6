"""Statistics of a corpus, for `veriscene data stats`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import mean

from veriscene.errors import InputError
from veriscene.worlds.nlvr.corpus import Example, split_file

SPLITS = ("train", "dev", "test", "hidden")


def split_files(paths: Iterable[Path]) -> Iterator[Path]:
    """The files among `paths`, and the splits of the corpus folders among them."""
    for path in paths:
        found = [] if path.is_dir() else [path]
        for split in SPLITS if path.is_dir() else ():
            with suppress(InputError):
                found.append(split_file(path, split))
        if not found:
            allowed = "looked for train/train.json, dev/dev.json, test/test.json, hidden/hidden.json"
            raise InputError("holds no corpus", where=path, allowed=allowed)
        yield from found


def describe(examples: Sequence[Example]) -> dict[str, object]:
    """Named statistics, ready to be printed or written as JSON."""
    labels = [example.label for example in examples if example.label is not None]
    statements = Counter(" ".join(example.statement.split()).lower() for example in examples)
    words = [re.findall(r"\w+", statement) for statement in statements]
    lengths = [len(statement) for statement in words]
    boxes = [box for example in examples for box in example.scene.boxes]
    items = [item for box in boxes for item in box.items]
    towers = sum(example.scene.is_towers for example in examples)
    vocabulary = Counter(word for statement in words for word in statement)
    return {
        "examples": len(examples),
        "labelled": len(labels),
        "true": f"{sum(labels) / len(labels):.1%}" if labels else "unknown",
        "presentations": len({example.presentation for example in examples}),
        "directories": len({example.directory for example in examples} - {None}),
        "different statements": len(statements),
        "words in a statement": {"least": min(lengths), "mean": mean(lengths), "most": max(lengths)},
        "vocabulary": len(vocabulary),
        "frequent words": " ".join(word for word, _ in vocabulary.most_common(20)),
        "pictures": {"towers": towers, "scatter": len(examples) - towers},
        "items in a box": {str(n): count for n, count in sorted(Counter(len(box.items) for box in boxes).items())},
        "shapes": dict(Counter(item.shape.value for item in items).most_common()),
        "sizes": {str(size): n for size, n in sorted(Counter(item.size.value for item in items).items())},
        "colours": {name.lower(): n for name, n in Counter(item.color.name for item in items).most_common()},
    }
