"""`veriscene data`: download, generate, check and describe corpora."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from veriscene.cli.backbone import backbone
from veriscene.cli.output import AsJson, progress_bar
from veriscene.errors import InputError
from veriscene.files import created
from veriscene.scenes import nlvr

data = typer.Typer(help="Download, generate, check and describe corpora.", no_args_is_help=True)
data.command()(backbone)

Files = Annotated[list[Path], typer.Argument(readable=False, metavar="FILE…", help="NLVR files or corpus folders.")]


@data.command()
def check(files: Files) -> None:
    """Print every problem of NLVR files as it is found, then a summary. Exit status 1 if there is a problem."""
    from veriscene.corpora.statistics import split_files

    total = 0
    for path in split_files(files):
        valid = problems = 0
        with progress_bar(f"{path.name} (bytes)") as progress:
            for found in nlvr.scan(path, progress):
                if isinstance(found, InputError):
                    problems += 1
                    print(found, flush=True)
                else:
                    valid += 1
        print(f"{path}: {valid:,} valid examples, {problems:,} problem{'' if problems == 1 else 's'}")
        total += problems
    if total:
        raise typer.Exit(1)


@data.command()
def stats(files: Files, as_json: AsJson = False) -> None:
    """Describe corpora: size, balance, statements, their lengths and words, items."""
    from veriscene.corpora.statistics import describe, split_files

    described = {}
    for path in split_files(files):
        with progress_bar(f"{path.name} (bytes)") as progress:
            examples = nlvr.read(path, progress)
        described[str(path)] = facts = describe(examples)
        if not as_json:
            print(path)
            for name, value in facts.items():
                print(f"  {name:<24} {_plain(value)}")
    if as_json:
        print(json.dumps(described))


@data.command()
def synth(
    out: Annotated[Path, typer.Argument(readable=False, help="New folder for train, dev and test in NLVR's layout.")],
    statements: Annotated[int, typer.Option(help="Number of statements, each with four scenes.")] = 10_000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same bytes.")] = 1,
    level: Annotated[str, typer.Option(help="simple: a few kinds of statement about towers; full: all.")] = "full",
) -> None:
    """Generate a corpus of statements with known meaning: for each, two scenes where it is true and two near misses."""
    from veriscene.corpora import synthetic

    with created(out, fill=synthetic.PARTS, hint="name a new or an empty folder"):
        with progress_bar("statements") as progress:
            corpus = synthetic.build(statements, seed=seed, level=level, progress=progress)
        synthetic.write(out, corpus)
    for split, examples in corpus.items():
        print(f"{nlvr.split_file(out, split)}: {len(examples):,} examples")


@data.command()
def get(folder: Annotated[Path, typer.Argument(readable=False, help="Corpus folder to write.")]) -> None:
    """Download the public NLVR corpus and its programs; after an interruption, only what is missing."""
    from veriscene.corpora.download import fetch

    is_new = fetch(folder, progress=lambda name: progress_bar(f"{name} (bytes)"))
    new = sum(is_new.values())
    print(f"{folder}: {new:,} files downloaded, {len(is_new) - new:,} already there")


def _plain(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_plain(item)}" for key, item in value.items())
    if isinstance(value, float):
        return f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
