"""How well any judge does on new statements of the grammar about a world, on random scenes, by kind of statement.

python benchmarks/own_world.py WORLD.toml JUDGE [--statements 1000] [--scenes 4] [--seed 99] [--json FILE]

JUDGE is a run of `veriscene train` or a reader's .safetensors file. About half of a statement's scenes make it true,
and a third of them come in pairs that differ by one edit. Statements that a run was taught are left out; those of a
reader's training are not recorded, so use a seed that it was not trained with. A statement's kind is the rule of the
grammar that drew it; one of several clauses is of the kinds of all its clauses.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from veriscene import worlds
from veriscene.data.teacher.maker import label
from veriscene.data.teacher.statements import Taught, draw_statements
from veriscene.data.teacher.workers import usable_cores
from veriscene.english import grammar
from veriscene.errors import InputError
from veriscene.judge import load
from veriscene.judge.folders import best_run
from veriscene.judge.judge import Judge, checked
from veriscene.judge.question import Verdict
from veriscene.metrics import accuracy as metrics
from veriscene.training.spec import SPEC, Record
from veriscene.world.examples import Example, normalized
from veriscene.world.schema import World

WORST = 10  # kinds of error


def taught_texts(judge: Path) -> set[str]:
    """The statements that a run was taught, which are drawn again; none of a judge that does not say."""
    run = best_run(judge) if judge.is_dir() else judge
    if not (run / SPEC).is_file():
        return set()
    spec = Record.read(run).spec
    drawn = draw_statements(spec.world, spec.config.teacher, usable_cores(), lambda done, total: None)
    return {normalized(each.text) for each in drawn}


def draw_kinds(world: World, count: int, *, scenes: int, seed: int, known: set[str]) -> dict[str, tuple[Taught, str]]:
    """New statements by text, each with its kind. The grammar does not say which rules it used, so they are watched."""
    used: list[str] = []
    english = [module for name, module in sys.modules.items() if name.startswith("veriscene.english.")]
    homes = {id(rule): each.__name__ for each in english for _, rule in getattr(each, "RULES", ())}

    def watched(rule: grammar.Rule) -> grammar.Rule:
        def run(say: Any) -> Any:
            sentence = rule(say)
            if sentence is not None:
                home = homes[id(rule)].rpartition(".")[2]
                used.append(f"{home}.{getattr(rule, '__name__', 'rows').strip('_')}")
            return sentence

        return run

    original: Callable[..., Any] = grammar.rules
    wrapped = {tower: (original(tower)[0], tuple(map(watched, original(tower)[1]))) for tower in (False, True)}
    rng, language, found = random.Random(f"own world {seed}"), worlds.language(world), dict[str, tuple[Taught, str]]()
    grammar.rules = wrapped.__getitem__  # type: ignore[assignment]
    try:
        while len(found) < count:
            used.clear()
            drawn = grammar.draw(rng, language)
            if normalized(drawn.text) not in known:
                kind = " + ".join(sorted(set(used))) or "logic"
                found.setdefault(drawn.text, (Taught(drawn.text, drawn.program, drawn.kind, scenes), kind))
    finally:
        grammar.rules = original  # type: ignore[assignment]
    return found


def measure(judge: Judge, statements: dict[str, tuple[Taught, str]], seed: int) -> dict[str, Any]:
    """Accuracy with its interval, that of each kind, and the most frequent kinds of error with an example each."""
    examples = label(judge.world, [taught for taught, _ in statements.values()], seed=seed)
    verdicts = [checked(answer) for answer in judge(examples)]
    scores = metrics.score(examples, {e.identifier: v.verdict for e, v in zip(examples, verdicts, strict=True)})
    total: Counter[str] = Counter()
    wrong: dict[str, list[tuple[Example, Verdict]]] = {}
    for example, verdict in zip(examples, verdicts, strict=True):
        for kind in statements[example.statement][1].split(" + "):
            total[kind] += 1
            if verdict.verdict != example.label:
                wrong.setdefault(kind, []).append((example, verdict))
    worst = sorted(wrong, key=lambda kind: -len(wrong[kind]))[:WORST]
    return {
        "world": judge.world.name,
        "grammar": grammar.VERSION,
        "statements": len(statements),
        "examples": len(examples),
        "accuracy": scores.accuracy,
        "interval": scores.interval,
        "not_understood": sum(not verdict.understood for verdict in verdicts) / len(verdicts),
        "kinds": {kind: [1 - len(wrong.get(kind, [])) / count, count] for kind, count in total.most_common()},
        "errors": [
            {
                "kind": kind,
                "errors": len(wrong[kind]),
                "statement": wrong[kind][0][0].statement,
                "label": wrong[kind][0][0].label,
                "reading": wrong[kind][0][1].reading,
            }
            for kind in worst
        ],
    }


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("world")
    parser.add_argument("judge", type=Path)
    parser.add_argument("--statements", type=int, default=1000)
    parser.add_argument("--scenes", type=int, default=4)
    parser.add_argument("--seed", type=int, default=99)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    try:
        world, judge = worlds.get(options.world), load(options.judge, device=options.device)
        if judge.world != world:
            raise InputError(f"judges the world {judge.world.name}, not {options.world}", where=options.judge)
        known = taught_texts(options.judge)
        drawn = draw_kinds(world, options.statements, scenes=options.scenes, seed=options.seed, known=known)
        found = measure(judge, drawn, options.seed)
    except InputError as error:
        sys.exit(str(error))
    low, high = found["interval"]
    print(f"{found['accuracy']:.1%} ({low:.1%} to {high:.1%}) of {found['examples']:,} examples are judged right;")
    print(f"{found['not_understood']:.1%} not understood; {len(known):,} taught statements were left out")
    for kind, (share, count) in found["kinds"].items():
        print(f"  {share:6.1%} of {count:5}  {kind}")
    print("most frequent kinds of error, each with an example:")
    for each in found["errors"]:
        read = f"; read as: {each['reading']}" if each["reading"] else ""
        print(f"  {each['errors']:4}  {each['kind']}: {each['statement']!r} is {each['label']}{read}")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
