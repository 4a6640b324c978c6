"""`veriscene figures`: the figures of a paper, as PDF and SVG."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
MOST = 12  # examples in a figure: more do not fit on a page

figures = typer.Typer(
    help="Draw the figures of a paper as PDF and SVG, for a page of two columns.",
    epilog="Example: veriscene figures order biatt-pointer nlvr/dev/dev.json --out figures",
    no_args_is_help=True,
)
OutFolder = Annotated[Path, typer.Option("--out", readable=False, help="Folder of the files. Replaces earlier ones.")]
Count = Annotated[int, typer.Option("--count", min=1, max=MOST, help="How many examples.")]
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
    from veriscene.metrics.judged import typical
    from veriscene.report import figures as drawing

    judged = _judge(model, _examples(file, identifiers))
    if any(each.order is None for each in judged):
        raise InputError("does not choose an order of the scene's items", where=model, allowed="use a pointer network")
    shown = judged if identifiers else _some(typical(judged, count), count, "that it judges right", file)
    _write(out, "order", drawing.order(shown, model=_name(model)))


@figures.command("attention")
def draw_attention(
    model: Model, file: Examples, out: OutFolder, count: Count = 2, identifiers: Identifiers = None
) -> None:
    """Draw attention between words and items as heat maps.

    Default: examples judged right, towers and scatter in turn, evenly spaced over the file.

    Example: veriscene figures attention biatt-pointer nlvr/dev/dev.json --identifiers 3-0,17-2 --out figures
    """
    _check_installed()
    from veriscene.metrics.judged import typical
    from veriscene.report import figures as drawing

    judged = _judge(model, _examples(file, identifiers))
    if any(each.words_to_items is None and each.items_to_words is None for each in judged):
        raise InputError(
            "has no attention to the scene's items", where=model, allowed="use biatt-pointer, biatt or bidaf"
        )
    shown = judged if identifiers else _some(typical(judged, count), count, "that it judges right", file)
    _write(out, "attention", drawing.attention(shown, model=_name(model)))


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
    from veriscene.metrics.judged import contrasts, first_per_statement
    from veriscene.report import figures as drawing

    examples = _examples(file, identifiers)
    _check_labels(examples, file)
    pairs = contrasts(_judge(model, examples), _judge(baseline, examples))
    what = f"that {model} gets right and {baseline} wrong"
    if identifiers:
        pairs = _all_asked(pairs, examples, lambda pair: pair[0].example, what)
    else:
        pairs = first_per_statement(pairs, lambda pair: pair[0].example.statement)[:count]
        pairs = _some(pairs, count, what, file)
    _write(out, "contrast", drawing.contrast(pairs, model=_name(model), baseline=_name(baseline)))


@figures.command("errors")
def draw_errors(
    model: Model, file: Examples, out: OutFolder, count: Count = 4, identifiers: Identifiers = None
) -> None:
    """Draw examples that a model gets wrong.

    Default: one example per statement, those of which the model is most confident.

    Example: veriscene figures errors biatt-pointer nlvr/dev/dev.json --count 6 --out figures
    """
    _check_installed()
    from veriscene.metrics.judged import first_per_statement, mistakes
    from veriscene.report import figures as drawing

    examples = _examples(file, identifiers)
    _check_labels(examples, file)
    wrong, what = mistakes(_judge(model, examples)), f"that {model} gets wrong"
    if identifiers:
        wrong = _all_asked(wrong, examples, lambda each: each.example, what)
    else:
        wrong = _some(first_per_statement(wrong, lambda each: each.example.statement)[:count], count, what, file)
    _write(out, "errors", drawing.errors(wrong, model=_name(model)))


def _check_installed() -> None:
    output.require_one_process("figures")
    require_matplotlib()


def _examples(file: Path, identifiers: str | None) -> list[Example]:
    """All examples, or those asked for, in the order in which they were asked for."""
    from veriscene.worlds.nlvr import corpus as nlvr

    examples = nlvr.read(file)
    if identifiers is None:
        return examples
    by_identifier = {example.identifier: example for example in examples}
    names = list(dict.fromkeys(name.strip() for name in identifiers.split(",") if name.strip()))
    for name in names:
        if name not in by_identifier:
            raise InputError(f"no example {name!r}", where=file, allowed="see --identifiers")
    if not 1 <= len(names) <= MOST:
        raise InputError(f"names {len(names)} examples", where="--identifiers", allowed=f"allowed: 1 to {MOST}")
    return [by_identifier[name] for name in names]


def _check_labels(examples: Sequence[Example], file: Path) -> None:
    for example in examples:
        if example.label is None:
            what = f"{example.identifier!r} has no label"
            raise InputError(what, where=example.place or file, allowed="only labelled examples are right or wrong")


def _judge(model: str, examples: Sequence[Example]) -> list[Judged]:
    from veriscene.judge import load
    from veriscene.judge.evaluate import judged

    return judged(load(model), examples)


def _some(found: list[T], count: int, what: str, file: Path) -> list[T]:
    """Those found, with a line if they are fewer than asked for; raises InputError if there are none."""
    if not found:
        raise InputError(f"has no example {what}", where=file)
    if len(found) < count:
        output.say(f"only {len(found)} statements have an example {what}")
    return found


def _all_asked(found: list[T], examples: Sequence[Example], example: Callable[[T], Example], what: str) -> list[T]:
    """Those found, in the order asked for; raises InputError if one of the examples is not among them."""
    by_identifier = {example(each).identifier: each for each in found}
    for asked in examples:
        if asked.identifier not in by_identifier:
            raise InputError(f"{asked.identifier!r} is not an example {what}", where="--identifiers")
    return [by_identifier[asked.identifier] for asked in examples]


def _name(model: str) -> str:
    """As it is called in a figure: without the path."""
    return Path(model).name.removesuffix(".onnx")


def _write(folder: Path, name: str, files: Mapping[str, bytes]) -> None:
    from veriscene.files import write_bytes

    for kind, content in files.items():
        write_bytes(folder / f"{name}.{kind}", content)
        print(folder / f"{name}.{kind}")
