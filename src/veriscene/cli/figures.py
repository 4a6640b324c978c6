"""`veriscene figures`: the figures of a paper, as PDF and SVG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veriscene.cli import output
from veriscene.cli.judge import Examples, Model
from veriscene.cli.output import argument, option
from veriscene.errors import InputError
from veriscene.files import write_bytes
from veriscene.output import counted

if TYPE_CHECKING:
    from veriscene.metrics.judged import Judged
    from veriscene.world.examples import Example

MAX_EXAMPLES = 100  # in a figure


def figures(
    kind: Annotated[str, argument("One of order, attention, contrast, errors.", metavar="KIND")],
    model: Model,
    file: Examples,
    out: Annotated[Path, option("Folder of the files. Replaces earlier ones.")],
    baseline: Annotated[str | None, option("For contrast: the model to compare with.")] = None,
    count: Annotated[
        int | None, option("How many examples. Default: 4; attention: 2.", min=1, max=MAX_EXAMPLES)
    ] = None,
    identifiers: Annotated[str | None, option("These examples, separated by commas.", metavar="N-M,…")] = None,
    width: Annotated[float | None, option("In inches. Default: 3.3, a column; attention: 7.", min=1.5, max=50)] = None,
    height: Annotated[
        float, option("Of a page, in inches. What does not fit goes to further files.", min=1, max=200)
    ] = 9.5,
    font: Annotated[str, option("Of all text; one that matplotlib finds.")] = "DejaVu Sans",
) -> None:
    """Draw a figure of a paper as PDF and SVG, for a page of two columns. Several pages: KIND-1.pdf, KIND-2.pdf, …

    order: arrows along the order in which a pointer network reads the items; says how often it depends on the
    statement. attention: heat maps between words and items. Both show examples judged right, towers and scatter in
    turn, evenly spaced over the file. contrast: examples that the model gets right and the baseline wrong, the furthest
    apart first. errors: examples that the model gets wrong, the most confident first. Both show one example per
    statement.

    Example: veriscene figures order biatt-pointer nlvr/dev/dev.json --out figures
    """
    output.require_one_process("figures")
    from veriscene.judge import load
    from veriscene.judge.evaluate import judged
    from veriscene.metrics.judged import reordered_share, with_other_statements
    from veriscene.report.figures import KINDS, Page, candidates, choose, draw

    if kind not in KINDS:
        raise InputError(f"unknown kind of figure {kind!r}", allowed=f"choose from {', '.join(KINDS)}")
    if (baseline is not None) != (kind == "contrast"):
        raise typer.BadParameter("--baseline goes together with contrast")
    examples = _examples(file, identifiers, labelled=kind in ("contrast", "errors"))
    page = Page(width, height, font)
    page.check()
    names = [model] if baseline is None else [model, baseline]
    every = [judged(load(name), examples) for name in names]
    _check_shows(kind, every[0], model)
    what = {"contrast": f"that {model} gets right and {baseline} wrong", "errors": f"that {model} gets wrong"}
    told, count = what.get(kind, "that it judges right"), count or (2 if kind == "attention" else 4)
    if identifiers:
        found = {verdicts[0].example.identifier: verdicts for verdicts in candidates(kind, every)}
        for example in examples:
            if example.identifier not in found:
                raise InputError(f"{example.identifier!r} is not an example {told}", where="--identifiers")
        shown = [found[example.identifier] for example in examples]
    else:
        shown = choose(kind, every, count)
        if shown and len(shown) < count:
            output.say(f"only {counted(len(shown), 'statement')} with an example {told}")
    if not shown:
        raise InputError(f"has no example {told}", where=file)
    pages = draw(kind, shown, [Path(name).name.removesuffix(".onnx") for name in names], page)
    for number, files in enumerate(pages, 1):
        for suffix, content in files.items():
            file = out / f"{kind}{f'-{number}' if len(pages) > 1 else ''}.{suffix}"
            write_bytes(file, content)
            print(file)
    if kind == "order":
        others = judged(load(model), with_other_statements(examples))
        share = reordered_share(*([each.order or () for each in some] for some in (every[0], others)))
        output.say(f"with another example's statement, {share:.1%} of the boxes with several items have another order")


def _examples(file: Path, identifiers: str | None, *, labelled: bool) -> list[Example]:
    """Returns all examples, or those asked for, in the order in which they were asked for."""
    from veriscene import worlds

    examples = worlds.read(file)
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


def _check_shows(kind: str, judged: list[Judged], model: str) -> None:
    """Raises InputError if the model has no order of its own, or no attention to items."""
    if kind == "order" and any(each.order is None for each in judged):
        raise InputError("does not choose an order of the scene's items", where=model, allowed="use a pointer network")
    if kind == "attention" and any(each.words_to_items is None and each.items_to_words is None for each in judged):
        allowed = "use biatt-pointer, biatt or bidaf"
        raise InputError("has no attention to the scene's items", where=model, allowed=allowed)
