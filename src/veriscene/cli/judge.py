"""`veriscene models`, `evaluate`, `score`, `predict`, `judge`, `explain`, `export`: models and what they answer."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from veriscene.cli import output
from veriscene.cli.output import AsJson, Shard, argument, option
from veriscene.errors import InputError, MissingRequirement, located, missing_package, printable
from veriscene.files import check_absent, opened, write_text
from veriscene.output import counted

if TYPE_CHECKING:
    from veriscene.judge.judge import Judge, Question, Verdict
    from veriscene.world.examples import Example
    from veriscene.world.schema import World

Model = Annotated[
    str,
    argument(
        "A folder written by `veriscene train`, a shipped checkpoint's name, an .onnx file, or owner/name on the"
        " Hugging Face hub."
    ),
]
Eyes = Annotated[bool, option("Judge by what is recognised in the pictures, however distorted.", "--eyes")]
SceneFile = Annotated[Path | None, option("JSON file: the boxes, or an object with `scene`.", "--scene")]
Picture = Annotated[Path | None, option("PNG of the scene, instead of --scene.", "--image")]
PICTURES = (b"\x89PNG", b"\xff\xd8\xff")  # how PNG and JPEG files begin
Examples = Annotated[Path, argument("An NLVR file: JSON lines.")]


def models(as_json: AsJson = False) -> None:
    """List the models that can be trained, and shipped checkpoints and runs with dev accuracy and size.

    Example: veriscene models --json
    """
    from veriscene.judge.folders import list_checkpoints, list_models

    checkpoints = list_checkpoints()
    try:
        kinds = list_models()
    except MissingRequirement as error:
        kinds = []
        output.say(f"models that can be trained are not listed: {error}")
    if as_json:
        print(json.dumps({"models": [asdict(k) for k in kinds], "checkpoints": [asdict(c) for c in checkpoints]}))
        return
    table = Table("model", "presets", "summary", box=None)
    for kind in kinds:
        table.add_row(kind.name, ", ".join(kind.presets), kind.summary)
    figures = (Column(name, justify="right") for name in ("dev accuracy", "MB"))
    trained = Table("checkpoint or run", "model", "supervision", *figures, box=None)
    for found in checkpoints:
        accuracy = "-" if found.dev_accuracy is None else f"{found.dev_accuracy:.1%}"
        names = (Text(printable(name)) for name in (found.name, found.model))  # a stranger's run may have any
        trained.add_row(*names, found.supervision or "-", accuracy, f"{found.megabytes:.1f}")
    Console(highlight=False, soft_wrap=True).print(*([table, ""] if kinds else []), trained, sep="\n")


def evaluate(
    model: Model,
    file: Annotated[Path, argument("An NLVR file, or a corpus folder for its dev split.")],
    images: Annotated[
        Path | None, option("Folder of the split's pictures, each of which is judged, not the scene.")
    ] = None,
    eyes: Eyes = False,
    predictions: Annotated[Path | None, option("Write them as the official CSV.")] = None,
    train: Annotated[Path | None, option("Train split or corpus folder: score statements that it lacks apart.")] = None,
    as_json: AsJson = False,
) -> None:
    """Print accuracy with its 95 % interval, consistency and a breakdown on a labelled file.

    Of a corpus folder the dev split is evaluated, and statements that its train split lacks are scored apart. With
    --images, every picture of an example counts, as in the official scripts.

    Example: veriscene evaluate best nlvr/dev/dev.json --predictions dev.csv
    """
    from veriscene import worlds
    from veriscene.judge import ONNX, load
    from veriscene.judge.evaluate import probabilities, verdict_of
    from veriscene.metrics.accuracy import train_statements
    from veriscene.world.corpus import split_file
    from veriscene.world.examples import write_predictions
    from veriscene.worlds.nlvr.pictures import each_picture, written_name

    if train is not None and train.is_dir():
        train = split_file(train, "train")
    if file.is_dir():
        train, file = train or file, split_file(file, "dev")
        output.say(f"evaluating the dev split, {file}")
    if predictions is not None and predictions.exists() and file.exists() and predictions.samefile(file):
        raise InputError("is the file that is evaluated", where=predictions, allowed="name another file")
    accelerator = output.make_machine().accelerator if output.has_torch() else None
    device = "cpu" if accelerator is None or model.endswith(ONNX) else str(accelerator.device)
    judge = load(model, device=device, eyes=eyes)
    examples = worlds.read(file, judge.world)
    seen = None if train is None else train_statements(train, judge.world)
    has_labels = any(example.label is not None for example in examples)
    if not has_labels and predictions is None:
        raise InputError("has no labels to score", where=file, allowed="use --predictions to write the predictions")
    counts = {}
    if images is not None:
        counts["examples"] = len(examples)
        examples = each_picture(examples, images, file)
        counts["pictures"] = len(examples)
    unknown: dict[str, list[str]] = {}
    for statement in {example.statement: None for example in examples}:
        unknown |= judge.unknown_words(statement)
    with output.progress_bar("judging") as progress:
        judged = probabilities(judge, examples, accelerator, progress)
    if not output.IS_MAIN:
        return
    output.warn_unknown_words(unknown)
    verdicts = {identifier: verdict_of(probability) for identifier, probability in judged.items()}
    if predictions is not None:  # the official format knows true and false only
        write_predictions(predictions, {written_name(each): bool(verdicts[each.identifier]) for each in examples})
    if not has_labels:
        output.say(f"{file}: has no labels to score; the predictions are in {predictions}")
    not_understood = sum(verdict is None for verdict in verdicts.values()) / max(1, len(verdicts))
    also = {"unknown_words": unknown, "not_understood": not_understood, **counts}
    if judge.reader is not None:
        also["grammar"] = judge.reader.grammar
    _print_scores(examples, verdicts if has_labels else None, also, seen, as_json=as_json)


def score(
    file: Examples,
    predictions: Annotated[Path, argument("Lines `identifier,true|false` or `file.png,true|false`.")],
    other: Annotated[Path | None, argument("Predictions of another system, to compare with.", metavar="OTHER")] = None,
    as_json: AsJson = False,
) -> None:
    """Score the predictions of any system, as the official scripts do. Predictions by file name have one line for each
    picture of an example.

    With OTHER, add the difference in accuracy, its 95 % interval (bootstrap over statements) and McNemar's exact test.

    Examples: veriscene score nlvr/dev/dev.json dev.csv, or veriscene score nlvr/dev/dev.json mine.csv theirs.csv
    """
    from veriscene import worlds
    from veriscene.metrics.accuracy import difference, mcnemar

    given = worlds.read(file)
    examples, verdicts, counts = _read_predictions(given, predictions)
    if other is None:
        _print_scores(examples, verdicts, counts, as_json=as_json)
        return
    also, others, _ = _read_predictions(given, other)
    if {each.identifier for each in also} != {each.identifier for each in examples}:
        raise InputError(f"does not predict the same pictures as {predictions}", where=other)
    found, test = difference(examples, [verdicts], [others]), mcnemar(examples, verdicts, others)
    accuracy = (test.both + test.only_second) / len(examples)
    compared = {"difference": found.mean, "interval": found.interval, "mcnemar": {**asdict(test), "p": test.p}}
    _print_scores(examples, verdicts, {**counts, "other": {"accuracy": accuracy, **compared}}, as_json=as_json)
    if not as_json:
        low, high = (100 * bound for bound in found.interval)
        print(f"{other}: accuracy {accuracy:.2%}")
        print(
            f"difference   {100 * found.mean:+.2f} points  (95 % interval {low:+.2f} to {high:+.2f}, over statements)"
        )
        print(
            f"only one is right: {predictions} {test.only_first:,}, {other} {test.only_second:,};"
            f" McNemar's p {test.p:.2g}"
        )


def _read_predictions(examples: list[Example], file: Path) -> tuple[list[Example], dict[str, bool], dict[str, object]]:
    """Returns what is scored: examples, or pictures of them, their verdicts, and for pictures how many there are."""
    from veriscene.metrics.accuracy import check_complete
    from veriscene.world.examples import read_predictions
    from veriscene.worlds.nlvr.pictures import per_picture

    verdicts, counts = read_predictions(file), dict[str, object]()
    if any(name.endswith(".png") for name in verdicts):
        counts["examples"] = len(examples)
        with located(file):
            examples, verdicts = per_picture(examples, verdicts)
        counts["pictures"] = len(examples)
    check_complete(examples, verdicts, file=file)
    return examples, verdicts, counts


def predict(
    model: Model,
    statement: Annotated[str | None, option("The statement to judge.")] = None,
    scene: SceneFile = None,
    image: Picture = None,
    eyes: Eyes = False,
    as_json: AsJson = False,
    attention: Annotated[bool, option("Add the attention maps to the JSON output.", "--attention")] = False,
) -> None:
    """Judge one statement about one scene. Without --statement: JSON lines on standard input, one verdict per line.

    Example: veriscene predict best --statement "There is a yellow circle." --image scene.png
    """
    from veriscene.judge import load

    shown = [path for path in (scene, image) if path is not None]
    if len(shown) != (0 if statement is None else 1):
        raise typer.BadParameter("--statement goes together with --scene or --image")
    output.require_one_process("predict")
    if statement is None and sys.stdin is None:  # closed by the shell: <&-
        raise InputError("is closed", where="standard input", allowed="send JSON lines, or use --statement and --scene")
    judge = load(model, eyes=eyes)
    if statement is None:
        _predict_lines(judge, sys.stdin.buffer, attention=attention)
        return
    question = read_question(judge, statement, scene, image)
    with located(image):
        verdict = judge(question)
    output.warn_unknown_words(verdict.unknown_words)
    if as_json:
        print(json.dumps(verdict.to_json(attention=attention)))
    else:
        _print_verdict(verdict, judge.world)


def read_question(judge: Judge, statement: str, scene: Path | None, image: Path | None) -> Question:
    """Returns the question about the scene in a JSON file or about a picture; one of the two files is given."""
    from veriscene import worlds
    from veriscene.judge.judge import Question
    from veriscene.world.examples import read_scene_file

    if scene is None:
        return Question(statement, picture=worlds.require(judge.world, "picture_from_file", "pictures")(image))
    if scene.is_file():  # a pipe can be read only once
        with opened(scene) as stream:
            if stream.read(8).startswith(PICTURES):
                raise InputError("is a picture", where=scene, allowed="use --image in place of --scene")
    return Question(statement, read_scene_file(scene, judge.world))


def _predict_lines(judge: Judge, stream: BinaryIO, *, attention: bool) -> None:
    """Prints each verdict as soon as its line arrives, with the question's identifier if it has one.

    In place of a verdict on a malformed line it prints an object with `error`, and fails in the end.
    """
    from veriscene import worlds
    from veriscene.files import json_objects, read_lines
    from veriscene.judge.judge import Question

    warned: set[str] = set()
    questions = failed = 0
    records, lines = worlds.records(judge.world), json_objects(read_lines(stream))
    for number, identifier, record in ((number, *each) for number, line in lines for each in records(line)):
        questions += 1
        name = {} if identifier is None else {"identifier": identifier}
        try:
            if isinstance(record, InputError):
                raise record
            verdict = judge(Question.from_json(record, judge.world))
        except InputError as error:
            failed += 1
            output.say(f"veriscene: {error.at(f'standard input, line {number}')}")
            print(json.dumps({**name, "error": str(error)}), flush=True)
            continue
        unknown = verdict.unknown_words
        output.warn_unknown_words({word: near for word, near in unknown.items() if word not in warned})
        warned.update(unknown)
        print(json.dumps({**name, **verdict.to_json(attention=attention)}), flush=True)
    if not questions:
        raise InputError("is empty", where="standard input", allowed="send JSON lines, or use --statement and --scene")
    if failed:
        raise InputError(f"{failed:,} of {counted(questions, 'question')} could not be judged", where="standard input")


def judge(
    context: typer.Context,
    model: Model,
    questions: Annotated[Path, argument("JSON lines or Parquet: a file, or a folder of .jsonl, .json, .parquet.")],
    out: Annotated[Path, argument("Folder of the answers; shards share it.")],
    shard: Shard = None,
    workers: Annotated[int, option("Processes. 0: one for each core. A GPU needs many.", min=0, max=1024)] = 0,
    form: Annotated[str, option("Of the answers: jsonl or parquet. Default: that of the questions.", "--format")] = "",
    readings: Annotated[bool, option("Add each statement as it was understood.", "--readings")] = False,
    eyes: Eyes = False,
    device: Annotated[str, option("cpu, or cuda for a GPU, which needs the extra `train`.")] = "cpu",
    part: Annotated[int, option("Questions for each file of answers; of JSON lines, their KiB.", min=1)] = 8192,
    as_json: AsJson = False,
) -> None:
    """Judge any number of questions. The answers are files part-000000, part-000001, …, in the order of the questions.

    A rerun judges what has no answers yet, so a killed command loses at most one part of each process. Several commands
    can share the folder, each with its --shard. A malformed question has an error in place of a verdict.

    Example: veriscene judge best questions.jsonl answers --shard 0/16
    """
    from veriscene.data.teacher.workers import usable_cores
    from veriscene.judge.bulk import Bulk, judge_missing

    output.require_one_process("judge")
    bulk = Bulk(model, questions, out, form, readings, eyes, device, part)
    has_plugins = context.parent is not None and bool(context.parent.params.get("plugins"))
    count = 1 if has_plugins else workers or usable_cores()
    own = (0, 1) if shard is None else output.parse_shard(shard)
    with output.progress_bar("judging (percent)") as progress:
        done = judge_missing(bulk, own, workers=count, progress=progress)
    if as_json:
        print(json.dumps(done))
    if not bulk.parts:
        raise InputError("holds no questions", where=questions)
    if done["malformed"] == done["questions"] > 0:
        raise InputError("all questions are malformed", where=questions, allowed=f"the answers in {out} say why")
    if as_json:
        return
    shares = ", ".join(f"{done[name]:,} {name.replace('_', ' ')}" for name in ("true", "not_understood", "malformed"))
    print(f"judged {counted(done['questions'], 'question')} in {done['seconds']:.1f} s: {shares}")
    print(f"files of answers in {out}: {done['parts']:,}, new: {done['judged_parts']:,}")


def _print_verdict(verdict: Verdict, world: World) -> None:
    if not verdict.understood:
        print(f"not understood: not read as a statement about a scene of {world.name}")
        return
    print(f"{'true' if verdict.verdict else 'false'} (probability {verdict.probability:.3f})")
    if verdict.reading is not None:
        print(f"  read as: {verdict.reading}{' (which would be the opposite)' if verdict.disputed else ''}")
    for box in range(len(verdict.per_box or verdict.order or ())):
        facts = []
        if verdict.per_box is not None:
            facts.append(f"{verdict.per_box[box]:.3f}")
        if verdict.order is not None:
            read = " ".join(str(item + 1) for item in verdict.order[box])
            facts.append(f"{world.item.plural} read in the order {read}" if read else "empty")
        print(f"  {world.box.singular} {box + 1}: {', '.join(facts)}")


def explain(
    model: Model,
    statement: Annotated[str, option("The statement to judge.")],
    scene: SceneFile = None,
    image: Picture = None,
    eyes: Eyes = False,
    edits: Annotated[int, option("Maximum number of edits.", min=1)] = 2,
    judgements: Annotated[int, option("Maximum number of judgements.", min=1)] = 1000,
    svg: Annotated[Path | None, option("New file: the scene with its order, and after the edits.")] = None,
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
    with located(image), output.progress_bar("judgements") as progress:
        explained = explain_question(judge, question, most_edits=edits, most_judgements=judgements, progress=progress)
    output.warn_unknown_words(explained.search.verdict.unknown_words)
    if svg is not None:
        write_text(svg, explained.svg)
    print(json.dumps(explained.to_json()) if as_json else explained.text)


def export(
    model: Annotated[str, argument("A folder written by `veriscene train`, or a shipped checkpoint's name.")],
    out: Annotated[Path | None, argument("The .onnx file to write. Default: graphs beside the weights.")] = None,
) -> None:
    """Write a model as one self-contained ONNX file, verified against torch. `predict` and `evaluate` accept it.

    Without OUT, write graphs that use the weights of a checkpoint or a reader (.safetensors) where they are. The model
    then judges without torch.

    Examples: veriscene export best best.onnx, or veriscene export runs/first
    """
    try:
        from veriscene.judge import checkpoint as checkpoints
        from veriscene.judge.export import export as write_onnx
        from veriscene.judge.export import export_beside, is_reader, weights_file
        from veriscene.judge.folders import READER, find
    except ModuleNotFoundError as error:
        raise missing_package(error, "onnx") from None

    if out is None:
        print("\n".join(map(str, export_beside(model, say=output.say))))
        return
    if path := weights_file(model):
        what = "is a reader, not a checkpoint" if is_reader(path) else "is a file of weights, not a checkpoint's folder"
        raise InputError(what, where=model, allowed="without OUT, a reader's graphs are written beside its weights")
    write_onnx(checkpoints.load(model), out, say=output.say)
    if (find(model) / READER).exists():
        output.say(
            f"{out} has only the network of {model}, not its reader of plain English; without OUT, both are exported"
        )
    print(out)


# ---------------------------------------------------------------- scores


def _print_scores(
    examples: Sequence[Example],
    verdicts: Mapping[str, bool | None] | None,
    also: Mapping[str, object],
    seen: frozenset[str] | None = None,
    *,
    as_json: bool,
) -> None:
    """Without verdicts (the examples have no labels) the JSON object has the same keys, and null for the scores.

    `also` are more keys of that object; with `pictures`, the examples are one for each picture. `seen` are the
    `train_statements`, if they are known.
    """
    from veriscene.metrics import accuracy as metrics

    scores = None if verdicts is None else metrics.score(examples, verdicts)
    slices = [] if verdicts is None else metrics.breakdown(examples, verdicts, seen)
    if as_json:
        record = {
            "accuracy": scores and scores.accuracy,
            "interval": scores and scores.interval,
            "consistency": scores and scores.consistency,
            "unseen": None if verdicts is None else metrics.unseen_accuracy(examples, verdicts, seen),
            "examples": len(examples),
            "presentations": len({example.presentation for example in examples}),
            "breakdown": [
                {"group": s.group, "name": s.name, "examples": s.scores.examples, "accuracy": s.scores.accuracy}
                for s in slices
            ],
        }
        print(json.dumps({**record, **also}))
    elif scores is not None:
        low, high = scores.interval
        interval, unit = f"95 % interval {low:.2%} to {high:.2%}", "picture" if "pictures" in also else "example"
        print(f"accuracy     {scores.accuracy:.2%}  ({interval}, {counted(scores.examples, unit)})")
        print(f"consistency  {scores.consistency:.2%}  ({counted(scores.presentations, 'presentation')})")
        if also.get("not_understood"):
            print(f"not understood {also['not_understood']:.2%} (counted as wrong)")
        figures = (Column(name, justify="right") for name in ("examples", "accuracy", "95 % interval"))
        table = Table("", "", *figures, box=None)
        for each in slices:
            low, high = each.scores.interval
            shown = (f"{each.scores.examples:,}", f"{each.scores.accuracy:.1%}", f"{low:.1%} to {high:.1%}")
            table.add_row(each.group, each.name, *shown)
        Console(highlight=False).print(table)
