"""How much of other people's wordings the grammar can say: n-grams of phrasings that drawn statements contain.

python benchmarks/phrasing_coverage.py PHRASINGS [--statements 100000] [--styles casual …] [--worst 10] [--missing 20]

The phrasings are those of `phrasings.py`, filled with NLVR's words. In both, a kind of item, a box, a number and a
value count as one word each, so that constructs are compared. No reader is needed: the figure says what a reader could
be taught, not what it learns. Held-out styles are measured, and their missing n-grams are never listed.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from grammar_coverage import ngrams, words_of
from phrasings import HELD_OUT, LANGUAGE, STYLES, fill
from veriscene.english.grammar import VERSION, draw
from veriscene.english.words import NUMBERS, lexicon_of
from veriscene.errors import InputError
from veriscene.files import parse_json

_LEXICON = lexicon_of(LANGUAGE)
_MASKS = {word: "BOX" for pair in (*_LEXICON.boxes, *_LEXICON.towers, ("compartment", "compartments")) for word in pair}
_MASKS |= {word: "ITEM" for pair in (*_LEXICON.items, *_LEXICON.blocks) for word in pair}
_MASKS |= {word: "ITEM" for pairs in _LEXICON.nouns.values() for pair in pairs for word in pair}
_VALUES = (word for each in LANGUAGE.world.attributes for choice in each.choices for word in choice.words)
_MASKS = dict.fromkeys(_VALUES, "VALUE") | _MASKS | dict.fromkeys(NUMBERS, "NUMBER")


def masked(text: str) -> tuple[str, ...]:
    """The words of a text, of which kinds of items, boxes and numbers are told by their sort alone."""
    words = [_MASKS.get(word, "NUMBER" if word.isdigit() else word) for word in words_of(text)]
    return tuple(re.sub(r"\b(?:VALUE )+(?=ITEM\b)", "", " ".join(words)).split())


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("phrasings", type=Path)
    parser.add_argument("--styles", nargs="+", default=list(STYLES), choices=STYLES)
    parser.add_argument("--statements", type=int, default=100_000)
    parser.add_argument("--worst", type=int, default=10, help="meanings to list")
    parser.add_argument("--missing", type=int, default=0, help="most frequent missing n-grams to list")
    parser.add_argument("-n", type=int, default=3, help="words of an n-gram")
    options = parser.parse_args(argv)
    rng, known = random.Random(1), set[tuple[str, ...]]()
    for _ in range(options.statements):
        known.update(ngrams(masked(draw(rng, LANGUAGE).text), options.n))
    print(f"grammar {VERSION}: {len(known):,} {options.n}-grams in {options.statements:,} statements")
    by_meaning, missing = defaultdict[str, list[bool]](list), Counter[str]()
    try:
        for style in options.styles:
            found: list[bool] = []
            for line in (options.phrasings / f"{style}.jsonl").read_text(encoding="utf-8").splitlines():
                record = parse_json(line)
                if not isinstance(record, dict):
                    raise InputError("is not an object", where=style)
                wanted = ngrams(masked(fill(rng, record["id"], record["text"]).text), options.n)
                here = [each in known for each in wanted]
                found += here
                if style not in HELD_OUT:
                    by_meaning[record["id"]] += here
                    missing.update(" ".join(each) for each in wanted if each not in known)
            print(f"{style:14}{sum(found) / len(found):8.1%}{'   held out' if style in HELD_OUT else ''}")
    except (InputError, OSError) as error:
        sys.exit(str(error))
    shares = {identifier: sum(each) / len(each) for identifier, each in by_meaning.items()}
    for identifier in sorted(shares, key=shares.__getitem__)[: options.worst]:
        print(f"  {shares[identifier]:6.1%}  {identifier}")
    for text, count in missing.most_common(options.missing):
        print(f"  {count:4d}  {text}")


if __name__ == "__main__":
    main()
