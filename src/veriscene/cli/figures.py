"""`veriscene figures`: the figures of a paper, as PDF and SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from veriscene.cli import output
from veriscene.cli.judge import Examples, Model
from veriscene.errors import InputError
from veriscene.metrics import require_matplotlib

if TYPE_CHECKING:
    from veriscene.metrics.judged import Judged
    from veriscene.worlds.nlvr.corpus import Example

T = TypeVar("T")
MAX_EXAMPLES = 12  # examples in a figure: more do not fit on a page

figures = typer.Typer(
    help="Draw the figures of a paper as PDF and SVG, for a page of two columns.",
    epilog="Example: veriscene figures order biatt-pointer nlvr/dev/dev.json --out figures",
    no_args_is_help=True,
)
OutFolder = Annotated[Path, typer.Option("--out", readable=False, help="Folder of the files. Replaces earlier ones.")]
Count = Annotated[int, typer.Option("--count", min=1, max=MAX_EXAMPLES, help="How many examples.")]
Identifiers = Annotated[
    str | None, typer.Option("--identifiers", metavar="N-M,…", help="These examples, separated by commas.")
]


@figures.command("order")
def draw_order(model: Model, file: Examples, out: OutFolder, count: Count = 4, identifiers: Identifiers = None) -> None:
    """Draw the order in which a pointer network reads the items, as arrows.

    Default: examples judged right, towers and scatter in turn, evenly spaced over the file.

    Example: veriscene figures order biatt-pointer nlvr/dev/dev.json --out figures
    """
    _check_installed()
    from veriscene.report.figures import order

    judged = _judge(model, _examples(file, identifiers))
    if any(each.order is None for each in judged):
        raise InputError("does not choose an order of the scene's items", where=model, allowed="use a pointer network")
    _write(out, "order", order(_typical(judged, count, identifiers, file), model=_name(model)))


@figures.command("attention")
def draw_attention(
    model: Model, file: Examples, out: OutFolder, count: Count = 2, identifiers: Identifiers = None
) -> None:
    """Draw attention between words and items as heat maps.

    Default: examples judged right, towers and scatter in turn, evenly spaced over the file.

    Example: veriscene figures attention biatt-pointer nlvr/dev/dev.json --identifiers 3-0,17-2 --out figures
    """
    _check_installed()
    from veriscene.report.figures import attention

    judged = _judge(model, _examples(file, identifiers))
    if any(each.words_to_items is None and each.items_to_words is None for each in judged):
        allowed = "use biatt-pointer, biatt or bidaf"
        raise InputError("has no attention to the scene's items", where=model, allowed=allowed)
    _write(out, "attention", attention(_typical(judged, count, identifiers, file), model=_name(model)))


@figures.command("contrast")
def draw_contrast(
    model: Model,
    file: Examples,
    out: OutFolder,
    baseline: Annotated[str, typer.Option(help="The model to compare with.")],
    count: Count = 4,
    identifiers: Identifiers = None,
) -> None:
    """Draw examples that a model gets right and a baseline gets wrong.

    Default: one example per statement, those whose two probabilities are furthest apart.

    Example: veriscene figures contrast biatt-pointer nlvr/dev/dev.json --baseline runs/bienc --out figures
    """
    _check_installed()
    from veriscene.metrics.judged import contrasts
    from veriscene.report.figures import contrast

    examples = _examples(file, identifiers, labelled=True)
    pairs = contrasts(_judge(model, examples), _judge(baseline, examples))
    found = {pair[0].example.identifier: pair for pair in pairs}
    shown = _chosen(found, examples, count, identifiers, f"that {model} gets right and {baseline} wrong", file)
    _write(out, "contrast", contrast(shown, model=_name(model), baseline=_name(baseline)))


@figures.command("errors")
def draw_errors(
    model: Model, file: Examples, out: OutFolder, count: Count = 4, identifiers: Identifiers = None
) -> None:
    """Draw examples that a model gets wrong.

    Default: one example per statement, those of which the model is most confident.

    Example: veriscene figures errors biatt-pointer nlvr/dev/dev.json --count 6 --out figures
    """
    _check_installed()
    from veriscene.metrics.judged import mistakes
    from veriscene.report.figures import errors

    examples = _examples(file, identifiers, labelled=True)
    found = {each.example.identifier: each for each in mistakes(_judge(model, examples))}
    wrong = _chosen(found, examples, count, identifiers, f"that {model} gets wrong", file)
    _write(out, "errors", errors(wrong, model=_name(model)))


def _check_installed() -> None:
    output.require_one_process("figures")
    require_matplotlib()


def _examples(file: Path, identifiers: str | None, *, labelled: bool = False) -> list[Example]:
    """Returns all examples, or those asked for, in the order in which they were asked for."""
    from veriscene.worlds.nlvr import corpus as nlvr

    examples = nlvr.read(file)
    if identifiers is not None:
        by_identifier = {example.identifier: example for example in examples}
        names = list(dict.fromkeys(name.strip() for name in identifiers.split(",") if name.strip()))
        for name in names:
            if name not in by_identifier:
                raise InputError(f"no example {name!r}", where=file, allowed="see --identifiers")
        if not 1 <= len(names) <= MAX_EXAMPLES:
            allowed = f"allowed: 1 to {MAX_EXAMPLES}"
            raise InputError(f"names {len(names)} examples", where="--identifiers", allowed=allowed)
        examples = [by_identifier[name] for name in names]
    for example in examples if labelled else ():
        if example.label is None:
            what = f"{example.identifier!r} has no label"
            raise InputError(what, where=example.place or file, allowed="only labelled examples are right or wrong")
    return examples


def _judge(model: str, examples: Sequence[Example]) -> list[Judged]:
    from veriscene.judge import load
    from veriscene.judge.evaluate import judged

    return judged(load(model), examples)


def _typical(judged: list[Judged], count: int, identifiers: str | None, file: Path) -> list[Judged]:
    """Returns the examples that were asked for, or some that the model judges right."""
    from veriscene.metrics.judged import typical

    return judged if identifiers else _some(typical(judged, count), count, "that it judges right", file)


def _chosen(
    found: Mapping[str, T], examples: Sequence[Example], count: int, identifiers: str | None, what: str, file: Path
) -> list[T]:
    """Returns the examples that were asked for, or the first one found for each statement. `found` holds those that can
    be shown, by identifier, the best ones first; raises InputError if one that was asked for is not among them."""
    from veriscene.metrics.judged import first_per_statement

    if identifiers:
        for asked in examples:
            if asked.identifier not in found:
                raise InputError(f"{asked.identifier!r} is not an example {what}", where="--identifiers")
        return [found[asked.identifier] for asked in examples]
    statements = {example.identifier: example.statement for example in examples}
    names = first_per_statement(found, statements.__getitem__)[:count]
    return _some([found[name] for name in names], count, what, file)


def _some(shown: list[T], count: int, what: str, file: Path) -> list[T]:
    """Returns what is shown, with a line if it is less than asked for; raises InputError if it is nothing."""
    if not shown:
        raise InputError(f"has no example {what}", where=file)
    if len(shown) < count:
        output.say(f"only {len(shown)} statements have an example {what}")
    return shown


def _name(model: str) -> str:
    """As it is called in a figure: without the path."""
    return Path(model).name.removesuffix(".onnx")


def _write(folder: Path, name: str, files: Mapping[str, bytes]) -> None:
    from veriscene.files import write_bytes

    for kind, content in files.items():
        write_bytes(folder / f"{name}.{kind}", content)
        print(folder / f"{name}.{kind}")
