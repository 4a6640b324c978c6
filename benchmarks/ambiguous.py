"""Counts the public programs of NLVR statements that read an ambiguous construct otherwise than docs/english.md does.

python benchmarks/ambiguous.py PROGRAMS/train.jsonl [--list bare-number]

Constructs are found by their words, and the other reading by what the program contains, so that counts are close to
what a person would count, but not the same.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path

import numpy as np

from veriscene import worlds
from veriscene.errors import InputError
from veriscene.language import expression as tree
from veriscene.language.expression import Expression
from veriscene.language.program import Program, Statement, read_programs
from veriscene.language.tokens import program_of, tokens_of
from veriscene.worlds.nlvr.scenes import draw_scenes

LANGUAGE = worlds.language("nlvr")
SCENES = 500
NUMBERS = dict(zip(("two", "three", "four", "five", "six", "seven", "eight"), range(2, 9), strict=True))
NUMBER = rf"\b({'|'.join(NUMBERS)}|[2-9])\b"
QUALIFIED = re.compile(
    rf"\b(exactly|only|just|least|lest|most|than|precisely|up to|all|the|of)( of)?( the)? {NUMBER}"
    rf"|{NUMBER}( \w+){{0,4}} (or (more|less|fewer)|at (most|least))|{NUMBER} colou?rs"
)
ITEM = "(item|block|square|circle|triangle|object|box)"
COLOR = "(yellow|black|blue)"


def nodes(value: object) -> Iterator[Expression]:
    """Yields all parts of an expression."""
    if isinstance(value, Expression):
        yield value
    if isinstance(value, tuple):
        for each in value:
            yield from nodes(each)
    elif is_dataclass(value) and not isinstance(value, tree.Function):
        for field in fields(value):
            yield from nodes(getattr(value, field.name))


def bounds(program: Program, *signs: str) -> set[int]:
    """The numbers that counts are compared with by these signs."""
    return {
        int(node.operands[1].value)
        for node in nodes(program.expression)
        if isinstance(node, tree.Comparison)
        and node.operators[0] in signs
        and isinstance(node.operands[1], tree.Number)
    }


def calls(program: Program, pattern: str) -> bool:
    return any(
        isinstance(node, tree.Call) and re.fullmatch(pattern, node.function.name) for node in nodes(program.expression)
    )


def is_some(program: Program) -> bool:
    """Whether it says that at least one thing exists."""
    return isinstance(program.expression, tree.Call) and program.expression.function.name == "exist"


def is_exactly_one(program: Program) -> bool:
    whole = program.expression
    return isinstance(whole, tree.Comparison) and whole.operators == ("==",) and whole.operands[1] == tree.Number(1)


def depends_on_none(statement: Statement) -> bool:
    """Whether it matters on scenes that All is false of an empty set."""

    def changed(node: object) -> object:
        if isinstance(node, tuple):
            return tuple(map(changed, node))
        if isinstance(node, tree.Call):
            arguments = tuple(changed(each) for each in node.arguments)
            if node.function.name == "All" and isinstance(test := arguments[1], tree.Lambda):
                unlike = tree.Lambda(test.parameter, call("not", test.body))
                return call("not", call("exist", call("filter_obj", arguments[0], unlike)))
            return tree.Call(node.function, arguments)
        if isinstance(node, tree.Lambda):
            return tree.Lambda(node.parameter, changed(node.body))
        if isinstance(node, tree.Comparison):
            return tree.Comparison(changed(node.operands), node.operators)
        if isinstance(node, tree.Logic):
            return tree.Logic(node.operator, changed(node.operands))
        return node

    def call(name: str, *arguments: Expression) -> Expression:
        return tree.Call(LANGUAGE.functions[name], arguments)

    other = Program(changed(statement.program.expression), LANGUAGE)
    scenes = draw_scenes(np.random.default_rng(1), statement.kind, SCENES).scenes()
    return any(statement.program.holds(scene) != other.holds(scene) for scene in scenes)


@dataclass(frozen=True)
class Construct:
    """An ambiguous construct: how it is found, and whether a program reads it otherwise than the grammar does."""

    reading: str
    words: str
    differs: Callable[[Statement], bool]

    def occurs(self, text: str) -> bool:
        return re.search(self.words, text) is not None


def _bare(statement: Statement) -> list[int]:
    """The numbers without "exactly", "at least" and the like."""
    text = " ".join(statement.text.lower().replace("atleast", "at least").split())
    qualified = {word for match in QUALIFIED.finditer(text) for word in re.findall(NUMBER, match[0])}
    found = set(re.findall(NUMBER, QUALIFIED.sub("", text))) - qualified
    return [NUMBERS.get(word) or int(word) for word in sorted(found)]


CONSTRUCTS = {
    "bare-number": Construct(
        "exactly",
        NUMBER,
        lambda s: any(n in bounds(s.program, ">=") or n - 1 in bounds(s.program, ">") for n in _bare(s)),
    ),
    "there-is-one": Construct(
        "exactly one", r"^there (is|are) (one|1)\b(?! of| or)", lambda s: not is_exactly_one(s.program)
    ),
    "a": Construct("at least one", r"^there is an? (?!single)", lambda s: is_exactly_one(s.program)),
    "one-of": Construct("at least one", r"^(there is )?one of the\b", lambda s: is_exactly_one(s.program)),
    "only-number": Construct(
        "exactly", rf"\bonly {NUMBER}", lambda s: bool(bounds(s.program, ">=") & {*map(int, _numbers(s))})
    ),
    "only-these": Construct(
        "nothing else; each may be missing",
        rf"\bonly {COLOR}( \w+)? and {COLOR}|{COLOR} and {COLOR} (\w+ )?only",
        lambda s: not calls(s.program, "All|contained"),
    ),
    "all": Construct(
        "true of none", r"\b(all|every|each|only)\b", lambda s: calls(s.program, "All") and depends_on_none(s)
    ),
    "most": Construct("more than half", r"(?<!at )(?<!top )\b(most|majority)\b", lambda s: True),
    "several": Construct(
        "at least two",
        r"\b(several|multiple|a few)\b",
        lambda s: not (2 in bounds(s.program, ">=") or 1 in bounds(s.program, ">")),
    ),
    "either-or": Construct(
        "or both", r"\beither\b", lambda s: not any(t.startswith("or/") for t in tokens_of(s.program))
    ),
    "superlative": Construct("all that tie", r"\b(big|larg|small|tall|high|low|short)+g?est\b", lambda s: True),
    "the-one": Construct(
        "there is exactly one, and it …",
        rf"\bthe {COLOR} {ITEM}\b",
        lambda s: not calls(s.program, "unique") and 1 not in bounds(s.program, "=="),
    ),
    "above": Construct(
        "anywhere above, in its box", r"\b(above|over)\b", lambda s: calls(s.program, "get_(above|below|touching)")
    ),
    "on-top-of": Construct(
        "touching, from above",
        r"\bon top of an?\b|\bon top of (an)?other\b|\bon top of it\b",
        lambda s: calls(s.program, "get_box_all_(above|below)"),
    ),
    "touching": Construct(
        "at most the world's distance",
        r"^(?!.*\b(close|near|neal|almost)).*\btouch",
        lambda s: calls(s.program, "(is|get)_closely.*"),
    ),
    "between": Construct(
        "one anywhere on either side",
        r"\bbetween (?!\d|one|two to)",
        lambda s: calls(s.program, "get_(above|below|touching)"),
    ),
    "except": Construct("it does not hold of that box", r"\b(except|other than|apart from)\b", lambda s: True),
    "foreign": Construct("does not exist", r"\b(red|green|white|gr[ae]y|orange|stars?|rectangles?)\b", lambda s: True),
}


def _numbers(statement: Statement) -> list[str]:
    found = re.findall(rf"\bonly {NUMBER}", statement.text.lower())
    return [str(NUMBERS.get(word, word)) for word in found]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=Path)
    parser.add_argument("--list", choices=CONSTRUCTS, help="print the statements that differ")
    options = parser.parse_args(argv)
    try:
        stated = read_programs(options.programs, LANGUAGE)
    except InputError as error:
        sys.exit(str(error))
    # The tokens write in one way what people wrote in several.
    plain = [Statement(each.text, each.kind, program_of(tokens_of(each.program), LANGUAGE)) for each in stated]
    print(f"{len(plain)} statements\n{'construct':14}{'reading':36}{'statements':>11}{'differ':>8}")
    for name, construct in CONSTRUCTS.items():
        found = [each for each in plain if construct.occurs(each.text.lower())]
        if name == "bare-number":
            found = [each for each in found if _bare(each)]
        differ = [each for each in found if construct.differs(each)]
        print(f"{name:14}{construct.reading:36}{len(found):11}{len(differ):8}")
        for each in differ if name == options.list else ():
            print(f"    {each.text}\n        {each.program.text}")


if __name__ == "__main__":
    main()
