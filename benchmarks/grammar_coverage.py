"""What the grammar lacks: statements and programs of NLVR compared with statements drawn from a level.

python benchmarks/grammar_coverage.py NLVR PROGRAMS [--level full] [--split train] [--statements 20000] [--list 25]

Words and phrases: how much of NLVR's distinct statements the drawn ones contain, and the cross-entropy of NLVR's
statements under a trigram model of the drawn ones. Constructions: which programs have a skeleton that no drawn program
has. The lists at the end show what to add first.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import random
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from veriscene import worlds
from veriscene.errors import InputError
from veriscene.language import expression as tree
from veriscene.language.expression import Expression, Kind, Many
from veriscene.language.program import Statement, read_programs
from veriscene.world.corpus import split_file
from veriscene.world.scene import Box, Scene
from veriscene.worlds.nlvr.grammar import draw
from veriscene.worlds.nlvr.looks import SCENE_KINDS, WORLD, Color
from veriscene.worlds.nlvr.scenes import draw_scenes

Words = tuple[str, ...]
START, END = "<s>", "</s>"


def words_of(text: str) -> Words:
    """Words and commas in lower case."""
    return tuple(re.findall(r"[a-z0-9]+|,", text.lower()))


def ngrams(words: Words, n: int) -> list[Words]:
    """The n-grams of a statement, with its beginning and its end."""
    padded = (START, *words, END)
    return [padded[start : start + n] for start in range(len(padded) - n + 1)]


class TrigramModel:
    """Interpolated with the shorter contexts (Witten and Bell); an unknown word has the probability of the rarest."""

    def __init__(self, statements: Iterable[Words]) -> None:
        self.counts: dict[Words, Counter[str]] = {}
        self.vocabulary = {END}
        for words in statements:
            self.vocabulary.update(words)
            for *context, word in ngrams((START, *words), 3):
                for length in range(3):
                    self.counts.setdefault(tuple(context[2 - length :]), Counter())[word] += 1
        self.totals = {context: counter.total() for context, counter in self.counts.items()}

    def probability(self, context: Words, word: str) -> float:
        shorter = self.probability(context[1:], word) if context else 1 / (len(self.vocabulary) + 1)
        seen = self.counts.get(context)
        if seen is None:
            return shorter
        return (seen[word] + len(seen) * shorter) / (self.totals[context] + len(seen))

    def cross_entropy(self, words: Words) -> float:
        """Bits per word, the end included."""
        trigrams = ngrams((START, *words), 3)
        return -sum(math.log2(self.probability(each[:2], each[2])) for each in trigrams) / len(trigrams)


def share_of_ngrams(wanted: Sequence[Words], drawn: Sequence[Words], n: int) -> float:
    """The share of n-grams of the wanted statements, counted as often as they occur, that some drawn one has."""
    known = {each for words in drawn for each in ngrams(words, n)}
    found = [each in known for words in wanted for each in ngrams(words, n)]
    return sum(found) / len(found)


def missing_skeletons(wanted: Sequence[Statement], drawn: Sequence[Statement]) -> dict[str, list[Statement]]:
    """The wanted statements whose construction no drawn statement has, by construction, the most frequent first."""
    known = {skeleton(statement.program.expression) for statement in drawn}
    missing: dict[str, list[Statement]] = {}
    for statement in wanted:
        if (construction := skeleton(statement.program.expression)) not in known:
            missing.setdefault(construction, []).append(statement)
    return dict(sorted(missing.items(), key=lambda entry: -len(entry[1])))


SCENES = 12
ORDERS = list(itertools.permutations(range(3)))
# For each permutation, where the scenes that it turns into one another stand among the six.
TURNED = [[ORDERS.index(tuple(order[new] for new in old)) for old in ORDERS] for order in ORDERS]


class Behaviours:
    """Compares programs by their truth on scenes, whatever their notation and whatever the names of the colours."""

    def __init__(self, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        self.scenes = {kind: list(map(recolored, draw_scenes(rng, kind, SCENES).scenes())) for kind in SCENE_KINDS}

    def of(self, statement: Statement) -> tuple[str, tuple[bool, ...]]:
        """Equal for programs about one kind of scene that agree on all scenes after some permutation of the colours."""
        truths = [[statement.program.holds(scene) for scene in six] for six in self.scenes[statement.kind]]
        return statement.kind, min(tuple(row[index] for row in truths for index in turned) for turned in TURNED)


def recolored(scene: Scene) -> list[Scene]:
    """The scene with its colours permuted in each of the six ways."""
    colors = tuple(Color)
    return [
        Scene(
            tuple(
                Box(tuple(WORLD.changed(item, color=colors[order[colors.index(item["color"])]]) for item in box.items))
                for box in scene.boxes
            )
        )
        for order in ORDERS
    ]


# ---------------------------------------------------------------- skeletons of programs

# A skeleton is a program's expression without constants, variable names and differences of notation.
_LOOKS = re.compile(
    r"(is|filter|query|equal|all_same|get_set)_(yellow|black|blue|square|circle|triangle|small|medium|big)"
)
_LOOK_OF = {
    **dict.fromkeys(("yellow", "black", "blue", "Color"), "color"),
    **dict.fromkeys(("square", "circle", "triangle", "Shape"), "shape"),
    **dict.fromkeys(("small", "medium", "big", "Size"), "size"),
}
_COMPARISONS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<", "equal_int": "=="}


def skeleton(expression: Expression) -> str:
    """Equal for programs that differ only in constants, notation and the order of conditions.

    `exist(s)` and `count(s) >= 1` are equal, `AND` and `and`, `filter_color(s, c)` and `filter_obj(s, …)`, a box and
    its items. That a box is a tower is left out: all boxes of a scene of towers are.
    """
    match expression:
        case tree.Number():
            return "N"
        case tree.Constant(name):
            kind, _, value = name.partition(".")
            return "" if name == "Side.ANY" else value if kind == "Side" else _LOOK_OF[kind]
        case tree.Variable(name, of):
            return name if isinstance(of, Many) else "b" if of is Kind.BOX else "x"
        case tree.Lambda(_, body):
            return skeleton(body)
        case tree.Logic(word, operands):
            return _joined(word, [skeleton(operand) for operand in operands])
        case tree.Comparison(operands, words):
            return _compared([skeleton(operand) for operand in operands], words)
        case tree.Display(members):
            return f"{{{', '.join(sorted(map(skeleton, members)))}}}"
        case tree.Call(function, arguments):
            return _call(function.name, [skeleton(argument) for argument in arguments])
    raise TypeError(f"{type(expression).__name__} is not an expression")


def _call(name: str, arguments: list[str]) -> str:
    first, *others = arguments = [argument for argument in arguments if argument]
    if name in ("all_items_in_box", "set", "box"):
        return "b" if name == "box" else first
    if name == "is_tower":
        return ""
    if name in ("AND", "OR"):
        return _joined(name.lower(), arguments)
    if name in ("NOT", "not"):
        return f"not {first}"
    if name in _COMPARISONS:
        return _compared(arguments, (_COMPARISONS[name],))
    if name == "exist":
        return f"count({first}) >= N"
    if name in ("filter_color", "filter_shape", "filter_size"):
        return f"[{first} | is_{name.removeprefix('filter_')}]"
    if name == "filter_obj":
        return f"[{first} | {others[0]}]" if others else first
    if look := _LOOKS.fullmatch(name):
        return f"{look[1]}_{_LOOK_OF[look[2]]}"
    return f"{name}({', '.join(arguments)})"


def _joined(word: str, conditions: list[str]) -> str:
    """Nested conjunctions are one; the order does not count."""
    parts = [part for condition in conditions if condition for part in _split(condition, f" {word} ")]
    return f"({f' {word} '.join(sorted(parts))})" if len(parts) > 1 else "".join(parts)


def _split(text: str, separator: str) -> list[str]:
    """The parts of "(a and b)", but of "(a and b) or c" the whole."""
    if not (text.startswith("(") and text.endswith(")")):
        return [text]
    depth, start, parts = 0, 1, []
    for index, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if depth == 0 and index < len(text) - 1:
            return [text]
        if depth == 1 and text.startswith(separator, index):
            parts.append(text[start:index])
            start = index + len(separator)
        elif depth == 1 and text.startswith((" and ", " or "), index):
            return [text]
    return [*parts, text[start:-1]]


def _compared(operands: list[str], words: tuple[str, ...]) -> str:
    return operands[0] + "".join(f" {word} {operand}" for word, operand in zip(words, operands[1:], strict=True))


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nlvr", type=Path)
    parser.add_argument("programs", type=Path)
    parser.add_argument("--level", default="full")
    parser.add_argument("--split", default="train", choices=("train", "dev"))
    parser.add_argument("--statements", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", type=int, default=25)
    options = parser.parse_args(argv)
    try:
        examples = worlds.read(split_file(options.nlvr, options.split))
        stated = read_programs(options.programs / f"{options.split}.jsonl", worlds.language())
        rng, start = random.Random(options.seed), time.perf_counter()
        drawn = [draw(rng, options.level) for _ in range(options.statements)]
    except InputError as error:
        sys.exit(str(error))
    rate = len(drawn) / (time.perf_counter() - start)
    print(f"{options.level}: {len(drawn):,} statements drawn, {rate:,.0f} a second")
    texts = sorted({" ".join(example.statement.split()) for example in examples})
    print(
        json.dumps(compare_words(texts, drawn, options.list) | compare_programs(stated, drawn, options.list), indent=2)
    )


def compare_words(texts: Sequence[str], drawn: Sequence[Statement], listed: int) -> dict[str, object]:
    wanted, ours = [words_of(text) for text in texts], [words_of(statement.text) for statement in drawn]
    model = TrigramModel(ours)
    bits = {text: model.cross_entropy(words) for text, words in zip(texts, wanted, strict=True)}
    print(f"\nWorst of {len(texts)} statements, bits a word:")
    for text in sorted(texts, key=bits.__getitem__, reverse=True)[:listed]:
        print(f"  {bits[text]:5.1f}  {text}")
    missing = Counter(word for words in wanted for word in words if word not in model.vocabulary)
    print(f"\nMissing words: {', '.join(f'{word} {count}' for word, count in missing.most_common(4 * listed))}\n")
    known = set(ours)
    return {
        "distinct statements drawn": len(known),
        "statements drawn word for word": sum(words in known for words in wanted) / len(wanted),
        "words missing": sum(missing.values()) / sum(map(len, wanted)),
        **{f"{n}-grams found": share_of_ngrams(wanted, ours, n) for n in (2, 3, 4)},
        "bits a word, mean": statistics.fmean(bits.values()),
        "bits a word, worst tenth": statistics.quantiles(bits.values(), n=10)[-1],
        "words a statement, NLVR (deciles)": statistics.quantiles(map(len, wanted), n=10),
        "words a statement, drawn (deciles)": statistics.quantiles(map(len, ours), n=10),
    }


def compare_programs(stated: Sequence[Statement], drawn: Sequence[Statement], listed: int) -> dict[str, object]:
    missing = missing_skeletons(stated, drawn)
    print(f"Missing constructions ({len(missing)}), with the number of statements and one of them:")
    for construction, statements in list(missing.items())[:listed]:
        print(f"  {len(statements):3d}  {construction}\n       {statements[0].text}")
    lacking = sum(map(len, missing.values()))
    behaviours = Behaviours()
    known = {behaviours.of(statement) for statement in {each.program.text: each for each in drawn}.values()}
    found = sum(behaviours.of(statement) in known for statement in stated)
    return {
        "statements whose construction is drawn": 1 - lacking / len(stated),
        "constructions missing": len(missing),
        "statements whose meaning is drawn, up to colors": found / len(stated),
    }


if __name__ == "__main__":
    main()
