"""Writes what a reader is taught besides the grammar: other people's English with programs.

python benchmarks/teaching.py EXAMPLES.jsonl [--phrasings PHRASINGS] [--fillings 20] [--variants 60] [--seed 1]

They are the statements in benchmarks/english, varied, and the phrasings in the folder PHRASINGS of all styles that are
not held out, with their slots filled, also pairs of them. A statement is varied by other colors, shapes, boxes and
numbers, alike in its text and in its program, where both name the same ones, and by other general nouns.
`veriscene train-reader --examples EXAMPLES.jsonl` takes the file.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from phrasings import HELD_OUT, LANGUAGE, NUMBERS, STYLES, fill
from veriscene.english.pattern import with_articles
from veriscene.errors import InputError
from veriscene.files import json_objects, opened, read_lines, read_text, write_text
from veriscene.language.program import Statement

OWN = Path(__file__).with_name("english")  # ROLE.jsonl: `text` and `program`

# ---------------------------------------------------------------- statements

COLORS, SHAPES = ("yellow", "black", "blue"), ("square", "circle", "triangle")
PLACES = (("left", "middle", "right"), ("first", "second", "third"), ("1st", "2nd", "3rd"), ("first", "second", "last"))
NOUNS = (
    (0.5, (("item", "items"), ("object", "objects"), ("thing", "things"))),
    (0.3, (("box", "boxes"), ("panel", "panels"), ("section", "sections"))),
    (0.2, (("tower", "towers"), ("stack", "stacks"))),
    (0.2, (("block", "blocks"), ("brick", "bricks"), ("cube", "cubes"))),
)
# Where such words tell no single box, or an item's place.
_NO_BOXES = re.compile(
    r"Side\.(LEFT|RIGHT)|_(left|right|second|third)\b|is_(left|right)most"
    r"|\b(first|last|left|right)(most)? (two|2)\b|\b(outer|ends?|center|centre|leftmost|rightmost|hand|left to right)\b"
    r"|\bfrom (the )?(left|right|bottom|top)\b"
)
_WITHOUT_NOUN = re.compile(r"\b(left|middle|right)\b(?! (box|one|tower|panel|section|stack))")  # "on the left"


def variant(rng: random.Random, text: str, program: str) -> tuple[str, str]:
    """Returns a statement like this one, with its program."""
    for words, owner in ((COLORS, "color"), (SHAPES, "shape")):
        told = {word for word in words if re.search(rf"\b{word}s?\b", text, re.I)}
        if told == set(re.findall(rf"\b{owner}\.(\w+)", program)):
            new = dict(zip(words, rng.sample(words, 3), strict=True))
            text = _exchanged(text, new, "s?")
            program = _exchanged(program, {f"{owner}.{word}": f"{owner}.{other}" for word, other in new.items()})
    text, program = _with_other_number(rng, *_with_other_boxes(rng, text, program))
    for share, nouns in NOUNS:
        if rng.random() < share:
            noun, many = rng.choice(nouns)
            text = re.sub(rf"\b{nouns[0][1]}\b", many, re.sub(rf"\b{nouns[0][0]}\b", noun, text))
    return with_articles(re.sub(r"\b([aA])n (?=\w)", r"\1 ", text)), program


def _exchanged(text: str, new: dict[str, str], ending: str = "") -> str:
    """Replaces words by others, all at once."""
    pattern = re.compile(rf"(?<![\w.])({'|'.join(map(re.escape, new))})({ending})(?!\w)", re.I)
    return pattern.sub(lambda found: new[found[1].lower()] + found[2], text)


def _with_other_boxes(rng: random.Random, text: str, program: str) -> tuple[str, str]:
    if _NO_BOXES.search(text.lower()) or _NO_BOXES.search(program):
        return text, program
    meant = {int(number) for number in re.findall(r"all_boxes\[(\d)\]", program)}
    for family in PLACES:
        if {at for at, word in enumerate(family) if re.search(rf"\b{word}\b", text, re.I)} == meant != set():
            order = rng.choice(((0, 1, 2), (2, 1, 0))) if _WITHOUT_NOUN.search(text) else rng.sample(range(3), 3)
            text = _exchanged(text, {word: family[other] for word, other in zip(family, order, strict=True)})
            boxes = {f"all_boxes[{at}]": f"all_boxes[{other}]" for at, other in enumerate(order)}
            return text, _exchanged(program, boxes)
    return text, program


def _with_other_number(rng: random.Random, text: str, program: str) -> tuple[str, str]:
    """Exchanges the only number from two to six, if it is that of the program."""
    said = re.findall(rf"\b(?:{'|'.join(NUMBERS[1:])}|\d+)\b", text, re.I)
    meant = re.findall(r"(?<!\[)\b\d+\b", program)
    if len(said) != 1 or len(meant) != 1:
        return text, program
    number = NUMBERS.index(said[0].lower()) if said[0].lower() in NUMBERS else int(said[0])
    if str(number) != meant[0] or not 2 <= number <= 6:
        return text, program
    other = rng.randint(2, 4 if "tower" in text.lower() else 6)
    word = str(other) if said[0].isdigit() else NUMBERS[other]
    return re.sub(rf"\b{said[0]}\b", word, text), re.sub(r"(?<!\[)\b\d+\b", str(other), program)


def statements(folder: Path, rng: random.Random, number: int) -> Iterator[Statement]:
    """Yields the statements in the files of a folder, and so many different variants of each at most."""
    for path in sorted(folder.glob("*.jsonl")):
        with opened(path) as stream:
            for line, record in json_objects(read_lines(stream)):
                if isinstance(record, InputError):
                    raise record.at(f"{path}:{line}")
                found = {(record["text"], record["program"])}
                found |= {variant(rng, record["text"], record["program"]) for _ in range(number)}
                for text, program in sorted(found):
                    ending = rng.choice((".", "")) if text[-1] not in ".?!" else text[-1]
                    yield Statement(text.rstrip(".") + ending.strip("?!"), None, LANGUAGE.parse(program))


# ---------------------------------------------------------------- phrasings

JOINED = (
    *(("{} and {}", "{} and {}"), ("{}, and {}", "{} and {}"), ("{}, but {}", "{} and {}"), ("{}; {}", "{} and {}")),
    *(("{} or {}", "{} or {}"), ("either {} or {}", "{} or {}"), ("if {}, then {}", "not {} or {}")),
)
SHARE_JOINED, MAX_JOINED_WORDS = 0.15, 12
_SEVERAL_CLAUSES = re.compile(r"[?,;:]|\b(and|or|if|but|unless|while)\b")


def phrasings(folder: Path, rng: random.Random, number: int) -> Iterator[Statement]:
    """Yields fillings of the phrasings of all styles that are not held out, and joined ones."""
    for style in (style for style in STYLES if style not in HELD_OUT):
        records = [json.loads(line) for line in read_text(folder / f"{style}.jsonl").splitlines()]
        brief: dict[bool, list[dict[str, str]]] = defaultdict(list)  # those about towers, and the others
        for each in records:
            if not _SEVERAL_CLAUSES.search(each["text"]) and len(each["text"].split()) <= MAX_JOINED_WORDS:
                brief[each["id"].startswith("tower-")].append(each)
        for record in records:
            others = brief[record["id"].startswith("tower-")]
            for _ in range(number):
                found = fill(rng, record["id"], record["text"])
                text, meaning = found.text, found.meaning
                if record in others and rng.random() < SHARE_JOINED:
                    other = rng.choice(others)
                    second = fill(rng, other["id"], other["text"])
                    words, means = rng.choice(JOINED)
                    text = words.format(text, second.text)
                    meaning = LANGUAGE.parse(means.format(f"({meaning.text})", f"({second.meaning.text})"))
                if not text.endswith("?"):
                    text += "?" * (style == "questions") or rng.choice((".", ""))
                yield Statement(text, None, meaning)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--phrasings", type=Path)
    parser.add_argument("--fillings", type=int, default=20, help="of each phrasing")
    parser.add_argument("--variants", type=int, default=60, help="of each statement, at most")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    rng = random.Random(options.seed)
    try:
        found = list(statements(OWN, rng, options.variants))
        own = len(found)
        if options.phrasings is not None:
            found += phrasings(options.phrasings, rng, options.fillings)
        write_text(options.out, "".join(each.to_line() for each in found))
    except (InputError, OSError) as error:
        sys.exit(str(error))
    print(f"{own:,} statements, {len(found) - own:,} phrasings: {options.out}")


if __name__ == "__main__":
    main()
