"""How well a judge understands free English, and how well it knows when it does not.

python benchmarks/free_english.py MODEL free/dev.jsonl free/outside.jsonl nlvr/dev/dev.json

Accuracy counts a statement that is not understood as wrong. Texts that say nothing about a scene are judged on ten
scenes of NLVR's dev split each, and count as flagged if they are on all of them. The risk-coverage curve: of the share
of free statements with the most certain verdicts, how many are wrong. `--reader` takes the place of the judge's own.
`--typing-errors` makes one error in a word of each statement: a letter is dropped, doubled, swapped or replaced.
"""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import replace
from pathlib import Path

import numpy as np

from veriscene import load, read
from veriscene.data.spelling import KEYBOARD
from veriscene.judge.judge import NetworkJudge
from veriscene.judge.question import Question, Verdict
from veriscene.models.reader import Reader
from veriscene.world.examples import Example

SCENES = 10  # that an outside text is judged on
SURE = 0.9
COVERAGES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)


def misspelt(examples: list[Example], seed: int) -> list[Example]:
    """The examples with one typing error in each statement, the same in equal statements."""
    rng, texts = random.Random(seed), dict[str, str]()
    for text in dict.fromkeys(example.statement for example in examples):
        words = text.split()
        if long := [place for place, word in enumerate(words) if word.isalpha() and len(word) > 3]:
            place = rng.choice(long)
            words[place] = mistyped(words[place], rng)
        texts[text] = " ".join(words)
    return [replace(example, statement=texts[example.statement]) for example in examples]


def mistyped(word: str, rng: random.Random) -> str:
    at = rng.randrange(len(word) - 1)
    before, letter, after = word[:at], word[at], word[at + 1 :]
    row = next((row for row in KEYBOARD if letter in row), letter)
    beside = row[max(0, row.find(letter) - 1)] if row[-1] == letter else row[row.find(letter) + 1 :][:1]
    return rng.choice(
        [before + after, before + 2 * letter + after, before + after[0] + letter + after[1:], before + beside + after]
    )


def judged(judge: NetworkJudge, examples: list[Example]) -> list[Verdict]:
    answers = judge([Question(example.statement, example.scene) for example in examples])
    return [answer for answer in answers if isinstance(answer, Verdict)]  # none is malformed


def is_right(example: Example, verdict: Verdict) -> bool:
    return verdict.verdict is not None and verdict.verdict == example.label


def free_statements(examples: list[Example], verdicts: list[Verdict]) -> dict[str, object]:
    """Accuracy, what is flagged, what is wrong and sure, and the risk-coverage curve, in %."""
    right = np.array([is_right(*pair) for pair in zip(examples, verdicts, strict=True)])
    flagged = np.array([verdict.verdict is None for verdict in verdicts])
    sure = np.where(flagged, 0, [max(verdict.probability, 1 - verdict.probability) for verdict in verdicts])
    most_certain_first = np.argsort(-sure, kind="stable")
    curve = {
        f"{share:.0%}": round(100 * float(np.mean(~right[most_certain_first[: round(share * len(right))]])), 2)
        for share in COVERAGES
    }
    return {
        "statements": len(examples),
        "accuracy": round(100 * float(right.mean()), 2),
        "wrongly flagged": round(100 * float(flagged.mean()), 2),
        "wrong and over 90 % sure": round(100 * float((~right & (sure > SURE)).mean()), 2),
        "most sure": round(100 * float(sure.max()), 2),
        "wrong among the most certain": curve,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("free", type=Path)
    parser.add_argument("outside", type=Path)
    parser.add_argument("corpus", type=Path, help="NLVR's dev split")
    parser.add_argument("--reader", type=Path, help="takes the place of the judge's own")
    parser.add_argument("--typing-errors", type=int, metavar="SEED", help="one in each statement")
    given = parser.parse_args()
    judge = load(given.model)
    assert isinstance(judge, NetworkJudge)
    if given.reader:
        judge.reader = Reader.load(given.reader)
    free, corpus = list(read(given.free)), list(read(given.corpus))
    if given.typing_errors is not None:
        free, corpus = (misspelt(examples, given.typing_errors) for examples in (free, corpus))
    on_corpus = judged(judge, corpus)
    texts = [json.loads(line)["text"] for line in given.outside.read_text(encoding="utf-8").splitlines()]
    scenes = [example.scene for example in corpus[:: len(corpus) // SCENES][:SCENES]]
    outside = judged(judge, [Example("", text, scene, None) for text in texts for scene in scenes])
    flagged = np.array([verdict.verdict is None for verdict in outside]).reshape(len(texts), len(scenes))
    print(
        json.dumps(
            {
                "grammar": judge.reader and judge.reader.grammar,
                "free": free_statements(free, judged(judge, free)),
                "outside flagged": f"{int(flagged.all(axis=1).sum())} of {len(texts)}",
                "NLVR": {
                    "accuracy": round(100 * float(np.mean([*map(is_right, corpus, on_corpus)])), 2),
                    "wrongly flagged": round(100 * float(np.mean([each.verdict is None for each in on_corpus])), 2),
                },
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
