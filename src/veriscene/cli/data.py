"""The commands below `veriscene data`."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from veriscene import files
from veriscene.cli.output import progress_bar
from veriscene.scenes import nlvr

data = typer.Typer(help="Corpora: get, make, check and describe them.", no_args_is_help=True)


@data.command()
def check(
    files: Annotated[list[Path], typer.Argument(readable=False, metavar="FILE…", help="NLVR files: JSON lines.")],
) -> None:
    """List every problem in NLVR files, and sum up. Exit status 1 if there is one."""
    total = 0
    for path in files:
        examples, problems = nlvr.check(path)
        for problem in problems:
            print(problem)
        print(f"{path}: {len(examples):,} sound examples, {len(problems):,} problems")
        total += len(problems)
    if total:
        raise typer.Exit(1)


@data.command()
def stats(
    files: Annotated[list[Path], typer.Argument(readable=False, metavar="FILE…", help="NLVR files, or corpus files.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """What a person wants to know of a corpus: sizes, balance, statements, lengths, items, words."""
    from veriscene.corpora.statistics import describe, files_of

    described = {str(path): describe(nlvr.read(path)) for given in files for path in files_of(given)}
    if as_json:
        print(json.dumps(described))
        return
    for path, facts in described.items():
        print(path)
        for name, value in facts.items():
            print(f"  {name:<24} {_plain(value)}")


@data.command()
def synth(
    out: Annotated[Path, typer.Argument(readable=False, help="Folder to write: train, dev and test in NLVR's layout.")],
    statements: Annotated[
        int, typer.Option(help="How many; each gets four scenes. Some texts come up twice.")
    ] = 10_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes.")] = 1,
    level: Annotated[str, typer.Option(help="simple: a few things about towers; full: everything.")] = "full",
) -> None:
    """Make a corpus of statements with known meaning: two true and two nearly true scenes for each."""
    from veriscene.corpora import synthetic as corpus

    with files.created(out, fill=corpus.PARTS, hint="name a new or an empty folder"):
        with progress_bar("statements") as progress:
            made = corpus.build(statements, seed=seed, level=level, progress=progress)
        corpus.write(out, made)
    for split, examples in made.items():
        print(f"{nlvr.split_file(out, split)}: {len(examples):,} examples")


@data.command()
def get(
    folder: Annotated[Path, typer.Argument(readable=False, help="Where the corpus shall lie.")],
    images: Annotated[bool, typer.Option(help="Also the pictures: some 86,000 small files.")] = False,
    token: Annotated[
        str | None,
        typer.Option(envvar="GITHUB_TOKEN", show_envvar=True, help="Lifts GitHub's limit of 60 listings an hour."),
    ] = None,
) -> None:
    """Bring the public NLVR corpus and the meanings of its statements onto this machine.

    Can be broken off and called again: what is there and right is not brought twice.
    """
    from veriscene.corpora.download import fetch
    from veriscene.corpora.transfer import Host

    with ExitStack() as bars:
        shown: dict[str, Callable[[int, int], None]] = {}

        def progress(name: str, done: int, total: int) -> None:
            if name not in shown:
                shown[name] = bars.enter_context(progress_bar(f"{name} (bytes)"))
            shown[name](done, total)

        fetched = fetch(folder, images=images, progress=progress, host=Host(token=token))
    print(f"{folder}: {len(fetched.written):,} files brought, {len(fetched.present):,} were there already")


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_plain(item)}" for key, item in value.items())
    if isinstance(value, float):
        return f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
