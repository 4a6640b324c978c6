"""How often do NLVR's raters, the public programs and kept verdicts agree with the majority label?

    python benchmarks/raters.py NLVR [--programs dev.jsonl …] [--verdicts docs/results/predictions/best.csv.gz …]

Of dev and Test-P, all statements, those that train has, and those that it has not (compared without case, punctuation
and the writing of numbers). One rater: the mean over examples of the share of ratings (`evals`) that equal the label.
Programs: of the examples whose statement has one. Verdicts: files that `veriscene reproduce` keeps; the mean over their
seeds, and their difference from one rater with its 95 % interval (bootstrap over statements; seeds are not resampled).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from veriscene import worlds
from veriscene.lab.seeds import read_kept
from veriscene.language.program import read_programs
from veriscene.metrics.accuracy import RESAMPLES, per_statement, score, train_statements
from veriscene.metrics.judged import Programs, by_sentence, sentence_key
from veriscene.world.corpus import split_file
from veriscene.world.examples import Example, normalized

WORLD = "nlvr"


def ratings(file: Path) -> dict[str, float]:
    """Returns the share of an example's ratings that equal its label, by identifier."""
    records = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    shares = ((each["identifier"], each["evals"].values(), each["label"].lower()) for each in records)
    return {name: sum(rating == label for rating in found) / len(found) for name, found, label in shares}


def subsets(examples: Sequence[Example], seen: frozenset[str]) -> Iterator[tuple[str, list[Example]]]:
    yield "all", list(examples)
    yield "in train", [each for each in examples if normalized(each.statement) in seen]
    yield "not in train", [each for each in examples if normalized(each.statement) not in seen]


def minus(examples: Sequence[Example], first: np.ndarray, second: np.ndarray) -> str:
    """Returns the mean of first - second over the examples, with its interval, in points."""
    sums, sizes = per_statement(examples, first - second), per_statement(examples, np.ones(len(examples)))
    weights = np.random.default_rng(0).multinomial(len(sizes), np.full(len(sizes), 1 / len(sizes)), size=RESAMPLES)
    low, high = np.quantile(weights @ sums / (weights @ sizes), [0.025, 0.975])
    return f"{100 * sums.sum() / sizes.sum():+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"


def executed(examples: Sequence[Example], programs: Programs) -> str:
    """Returns accuracy and consistency of the programs, and of how many examples."""
    with_program = [each for each in examples if sentence_key(each.statement) in programs]
    if not with_program:
        return "-"
    found = {each.identifier: programs[sentence_key(each.statement)].holds(each.scene) for each in with_program}
    scores = score(with_program, found)
    return f"{100 * scores.accuracy:.1f}, consistency {100 * scores.consistency:.1f} (of {len(with_program)})"


def right(examples: Sequence[Example], by_seed: Sequence[Mapping[str, bool]]) -> np.ndarray:
    """(example,): the share of seeds whose verdict is the label."""
    return np.array([np.mean([own[each.identifier] == each.label for own in by_seed]) for each in examples])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nlvr", type=Path)
    parser.add_argument("--programs", type=Path, nargs="*", default=())
    parser.add_argument("--verdicts", type=Path, nargs="*", default=())
    given = parser.parse_args()
    seen = train_statements(given.nlvr) or frozenset()
    language = worlds.language(worlds.get(WORLD))
    programs = by_sentence(each for file in given.programs for each in read_programs(file, language))
    kept = {file.name.removesuffix(".csv.gz"): read_kept(file.read_bytes()) for file in given.verdicts}
    print("| | examples | one rater | programs |" + "".join(f" {name} | minus one rater |" for name in kept))
    print("| --- " * (4 + 2 * len(kept)) + "|")
    for split in ("dev", "test"):
        file = split_file(given.nlvr, split)
        rated = ratings(file)
        for name, examples in subsets(worlds.read(file), seen):
            rater = np.array([rated[each.identifier] for each in examples])
            cells = [f"{split}, {name}", str(len(examples)), f"{100 * rater.mean():.1f}", executed(examples, programs)]
            for by_split in kept.values():
                judged = right(examples, by_split[split])
                cells += [f"{100 * judged.mean():.1f}", minus(examples, judged, rater)]
            print(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
