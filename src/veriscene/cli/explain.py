"""`veriscene explain`: why a model says what it says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from veriscene.cli import output
from veriscene.cli.judge import Eyes, Model, Picture, SceneFile, read_question
from veriscene.cli.output import AsJson
from veriscene.errors import InputError
from veriscene.files import check_absent, write_text


def explain(
    model: Model,
    statement: Annotated[str, typer.Option(help="The statement to judge.")],
    scene: SceneFile = None,
    image: Picture = None,
    eyes: Eyes = False,
    edits: Annotated[int, typer.Option(min=1, help="Maximum number of edits.")] = 2,
    judgements: Annotated[int, typer.Option(min=1, help="Maximum number of judgements.")] = 1000,
    svg: Annotated[
        Path | None, typer.Option(readable=False, help="New file: the scene with its order, and after the edits.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print a verdict, the order and attention behind it, and the fewest edits of the scene that would change it.

    Example: veriscene explain best --statement "There is a yellow circle." --image scene.png
    """
    from veriscene.judge import load
    from veriscene.judge.explain import explain as explain_question

    if (scene is None) == (image is None):
        raise typer.BadParameter("--statement goes together with --scene or --image")
    output.require_one_process("explain")
    if svg is not None:
        check_absent(svg)
    judge = load(model, eyes=eyes)
    question = read_question(judge, statement, scene, image)
    try:
        with output.progress_bar("judgements") as progress:
            explained = explain_question(
                judge, question, most_edits=edits, most_judgements=judgements, progress=progress
            )
    except InputError as error:
        raise error if image is None else error.at(image) from None
    output.warn_unknown_words(explained.search.verdict.unknown_words)
    if svg is not None:
        write_text(svg, explained.svg)
    print(json.dumps(explained.to_json()) if as_json else explained.text)
