"""How often edits of a scene are found that flip a model's verdict, and whether the truth flips with it.

    python benchmarks/counterfactuals.py best ../shared/nlvr/dev/dev.json [--programs ../shared/programs/dev.jsonl]
        [--examples 200] [--edits 2] [--judgements 1000] [--out counterfactuals.md]

The examples are evenly spaced in the file. A statement's program says whether a statement is true of a scene: a model
that understands a statement changes its verdict when the truth changes. For comparison, the table has the share of all
single edits that change the truth. One thread.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

import veriscene
from veriscene import files, worlds
from veriscene.judge.explain import Search, find_flip
from veriscene.judge.judge import Judge, Question
from veriscene.language.program import Program, read_programs
from veriscene.world.edits import edits as scene_edits
from veriscene.world.examples import Example


@dataclass(frozen=True)
class Truth:
    """What the program says. `flipped` is None without a flip."""

    is_verdict_right: bool
    flipped: bool | None
    flipped_by_chance: float  # the share of all single edits that change the truth


@dataclass(frozen=True)
class Case:
    search: Search
    seconds: float
    truth: Truth | None  # None: no program is known


def evenly_spaced(examples: Sequence[Example], count: int) -> list[Example]:
    count = min(count, len(examples))
    return [examples[number * len(examples) // count] for number in range(count)]


def measure(judge: Judge, example: Example, program: Program | None, *, edits: int, judgements: int) -> Case:
    question = Question(example.statement, example.scene)
    start = time.perf_counter()
    search = find_flip(judge, question, most_edits=edits, most_judgements=judgements)
    seconds = time.perf_counter() - start
    return Case(search, seconds, None if program is None else _truth(program, example, search))


def _truth(program: Program, example: Example, search: Search) -> Truth:
    holds = program.holds(example.scene)
    return Truth(
        is_verdict_right=holds == search.verdict.verdict,
        flipped=None if search.flip is None else program.holds(search.flip.scene) != holds,
        flipped_by_chance=statistics.mean(
            program.holds(scene) != holds for _, scene in scene_edits(worlds.of_example(example), example.scene)
        ),
    )


def markdown(cases: Sequence[Case]) -> str:
    """A table; the last column is the number of examples that a share or an average is taken over."""
    flips = [case.search.flip for case in cases if case.search.flip is not None]
    missed = [case.search for case in cases if case.search.flip is None]
    truths = [case.truth for case in cases if case.truth is not None]
    flipped = [(truth.flipped, truth.is_verdict_right) for truth in truths if truth.flipped is not None]
    sizes = sorted({len(flip.edits) for flip in flips})
    rows = [
        _share("a flip was found", [case.search.flip is not None for case in cases]),
        *(
            _share(f"flips of {size} edit{'s' * (size > 1)}", [len(flip.edits) == size for flip in flips])
            for size in sizes
        ),
        _share("without a flip: every candidate was judged", [search.complete for search in missed]),
        _average("judgements", [case.search.judgements for case in cases]),
        _average("seconds", [case.seconds for case in cases]),
        _share("the program says that the verdict was right", [truth.is_verdict_right for truth in truths]),
        _share("the program says that the flip changed the truth", [did for did, _ in flipped]),
        _share("… where the verdict was right", [did for did, is_right in flipped if is_right]),
        _share("… where it was wrong", [did for did, is_right in flipped if not is_right]),
        _share("for comparison: any single edit changes the truth", [truth.flipped_by_chance for truth in truths]),
    ]
    return "\n".join(["| measured | value | of |", "| --- | ---: | ---: |", *rows]) + "\n"


def _share(what: str, values: Sequence[float]) -> str:
    return f"| {what} | {f'{100 * statistics.mean(values):.1f} %' if values else '-'} | {len(values)} |"


def _average(what: str, values: Sequence[float]) -> str:
    figures = " / ".join(f"{value:,.1f}" for value in (statistics.median(values), statistics.mean(values), max(values)))
    return f"| {what}: median / mean / most | {figures} | {len(values)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("file", type=Path, help="an NLVR file such as dev.json")
    parser.add_argument("--programs", type=Path, help="JSON lines with sentence, kind and program")
    parser.add_argument("--examples", type=int, default=200)
    parser.add_argument("--edits", type=int, default=2)
    parser.add_argument("--judgements", type=int, default=1000)
    parser.add_argument("--out", type=Path, help="file for the table")
    options = parser.parse_args()
    torch.set_num_threads(1)
    judge, limits = veriscene.load(options.model), {"edits": options.edits, "judgements": options.judgements}
    known = [] if options.programs is None else read_programs(options.programs, worlds.language())
    programs = {statement.text: statement.program for statement in known}
    cases = []
    for example in evenly_spaced(worlds.read(options.file), options.examples):
        cases.append(measure(judge, example, programs.get(example.statement), **limits))
        flip = cases[-1].search.flip
        print(f"{len(cases)}: {example.statement} {'-' if flip is None else flip.text}", flush=True)
    table = markdown(cases)
    print(table)
    if options.out is not None:
        files.write_text(options.out, table)


if __name__ == "__main__":
    main()
