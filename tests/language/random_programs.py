"""Random well-typed expressions of the language of any world."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable
from functools import partial

from veriscene.errors import InputError
from veriscene.language import expression as tree
from veriscene.language.expression import Expression, Kind, member_type
from veriscene.language.language import Language
from veriscene.language.program import Program

BASIS = ("all_boxes", "all_items", "all_boxes[0]", "all_items[0]", "[0, 2]", "1")


def random_expressions(
    language: Language, rng: random.Random, variables: tuple[tree.Variable, ...] = (), size: int = 60
) -> list[Expression]:
    """Returns expressions built from random functions and operators, of arguments that fit their parameters."""
    found = [*map(language.expression, BASIS), *variables]
    found += rng.sample(list(language.constants.values()), min(9, len(language.constants)))
    if language.has_decimals:
        found.append(tree.Number(round(rng.uniform(-2 if language.has_signs else 0, 20), rng.randint(0, 2))))
    functions = list(language.functions.values())
    for _ in range(size):
        function = rng.choice(functions)
        arguments: list[Expression] = []
        for parameter in function.parameters:
            options = found
            if parameter.mapped and (member := member_type(arguments[0].type)) and len(variables) < 2:
                variable = tree.Variable(f"v{len(variables)}", member)
                bodies = random_expressions(language, rng, (*variables, variable), 9)
                options = [tree.Lambda(variable, body) for body in bodies]
            types = [argument.type for argument in arguments]
            options = [option for option in options if parameter.accepts(option.type, [*types, option.type])]
            arguments += [rng.choice(options)] if options else []
        pair = (rng.choice(found), rng.choice(found))
        nodes: list[Callable[[], Expression]] = [
            partial(tree.Call, function, tuple(arguments)),
            partial(tree.Comparison, pair, (rng.choice(["==", "!=", "in", "not in", "<", ">="]),)),
            partial(tree.Display, pair, rng.random() < 0.5),
            partial(tree.Logic, rng.choice(["and", "or"]), pair),
        ]
        for node in nodes:
            with contextlib.suppress(InputError):
                found.append(node())
    return found


def random_programs(language: Language, rng: random.Random) -> list[Program]:
    expressions = random_expressions(language, rng)
    return [Program(expression, language) for expression in expressions if expression.type is Kind.TRUTH]
