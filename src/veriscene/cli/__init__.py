"""The commands: parse, call, print. No logic lives here.

Heavy imports are inside the commands, so that `--help` and the data commands answer at once.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from veriscene import __version__
from veriscene.cli import output
from veriscene.cli.bench import bench
from veriscene.cli.data import data
from veriscene.cli.output import INTERRUPTED, Changes, DataFolder, Out, Seed
from veriscene.cli.reproduce import reproduce
from veriscene.cli.train import train
from veriscene.cli.tune import tune
from veriscene.errors import InputError, message

if TYPE_CHECKING:
    from veriscene.scenes.nlvr import Example

# OpenMP threads that spin while they wait for one another bring a busy machine to a standstill, so they shall sleep.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

app = typer.Typer(help="Is this statement true of this scene?", no_args_is_help=True, pretty_exceptions_enable=False)
app.add_typer(data, name="data")
app.add_typer(bench, name="bench")
app.command()(train)
app.command()(tune)
app.command()(reproduce)

Model = Annotated[str, typer.Argument(help="A folder that `veriscene train` wrote, or a shipped checkpoint's name.")]
Examples = Annotated[Path, typer.Argument(readable=False, help="An NLVR file: JSON lines.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output and nothing else there.")]


def main() -> None:
    """The command line: bad input is one line and exit status 1, wrong usage is 2."""
    try:
        app()
    except InputError as error:
        output.complain(str(error))
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # The reader (head, less) has gone; what Python would flush at exit has nowhere to go either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:  # a file or folder that may not be touched, a full disk
        output.complain(message(error))
        sys.exit(1)
    finally:
        output.leave_the_group()


@app.callback(invoke_without_command=True)
def version(show: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if show:
        print(__version__)
        raise typer.Exit


@app.command()
def evaluate(
    model: Model,
    file: Examples,
    predictions: Annotated[
        Path | None, typer.Option(readable=False, help="Also write the verdicts, in the official CSV form.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Accuracy with its 95 % interval, consistency, and a breakdown, on a labelled NLVR file."""
    from veriscene.evaluation.evaluate import probabilities
    from veriscene.scenes import nlvr
    from veriscene.training import checkpoint as checkpoints

    if predictions is not None and predictions.exists() and file.exists() and predictions.samefile(file):
        raise InputError(f"{predictions}: is the file that is judged; name another one for the predictions")
    accelerator = output.accelerator()
    checkpoint, examples = checkpoints.load(model), nlvr.read(file)
    has_labels = any(example.label is not None for example in examples)
    if not has_labels and predictions is None:
        raise InputError(f"{file}: has no labels, so nothing can be scored; --predictions writes the verdicts")
    with output.progress_bar("judging") as progress:
        judged = probabilities(checkpoint, examples, accelerator, progress)
    if not accelerator.is_main_process:
        return
    verdicts = {identifier: probability > 0.5 for identifier, probability in judged.items()}
    if predictions is not None:
        nlvr.write_predictions(predictions, verdicts)
    if not has_labels:
        output.say(f"{file} has no labels, so nothing is scored; the predictions are in {predictions}")
        if as_json:
            print(json.dumps(output.scores_to_json(examples, None, [])))
        return
    _print_scores(examples, verdicts, as_json)


@app.command()
def score(
    file: Examples,
    predictions: Annotated[Path, typer.Argument(readable=False, help="Lines `identifier,true|false`.")],
    as_json: AsJson = False,
) -> None:
    """Score a prediction file, of any system, as the official scripts do."""
    from veriscene.evaluation import metrics
    from veriscene.scenes import nlvr

    examples, verdicts = nlvr.read(file), nlvr.read_predictions(predictions)
    metrics.check_complete(examples, verdicts, file=predictions)
    _print_scores(examples, verdicts, as_json)


def _print_scores(examples: Sequence[Example], verdicts: Mapping[str, bool], as_json: bool) -> None:
    from veriscene.evaluation import metrics

    scores, slices = metrics.score(examples, verdicts), metrics.breakdown(examples, verdicts)
    if as_json:
        print(json.dumps(output.scores_to_json(examples, scores, slices)))
    else:
        output.print_scores(scores, slices)


@app.command()
def predict(
    model: Model,
    statement: Annotated[str | None, typer.Option(help="The statement to judge.")] = None,
    scene: Annotated[
        Path | None, typer.Option(readable=False, help="JSON file: three boxes, or an object with `structured_rep`.")
    ] = None,
    as_json: AsJson = False,
    attention: Annotated[bool, typer.Option(help="With --json or on lines: both attention maps too.")] = False,
) -> None:
    """Judge one statement of one scene; without --statement, JSON lines on standard input, a verdict line for each."""
    from veriscene.serving import lines, loading

    if (statement is None) != (scene is None):
        raise typer.BadParameter("--statement and --scene go together")
    output.main_process_alone("predict")
    if statement is None and sys.stdin is None:  # so Python has it if a shell closed it: <&-
        raise InputError("standard input is closed; give JSON lines there, or --statement and --scene")
    judge = loading.load(model)
    if statement is None or scene is None:
        for answer in lines.answers(judge, sys.stdin.buffer, attention=attention):
            print(json.dumps(answer), flush=True)
        return
    verdict = judge(statement, lines.read_scene_file(scene))
    if as_json:
        print(json.dumps(verdict.to_json(attention=attention)))
        return
    print(f"{'true' if verdict.verdict else 'false'} (probability {verdict.probability:.3f})")
    for number, probability in enumerate(verdict.per_box, 1):
        line = f"  box {number}: {probability:.3f}"
        if verdict.order is not None:
            line += f", items read in the order {' '.join(str(item + 1) for item in verdict.order[number - 1])}"
        print(line)


@app.command()
def export(model: Model, out: Annotated[Path, typer.Argument(readable=False, help="The .onnx file to write.")]) -> None:
    """Write a model as one ONNX file that needs nothing beside it, checked against torch. `predict` takes it too."""
    from veriscene.serving.onnx.export import export as write_onnx
    from veriscene.training import checkpoint as checkpoints

    write_onnx(checkpoints.load(model), out)
    print(out)


@app.command()
def report(
    run: Annotated[Path, typer.Argument(readable=False, help="A folder that `veriscene train` wrote.")],
    out: Annotated[Path | None, typer.Option(readable=False, help="Default: report.html in the run.")] = None,
) -> None:
    """Write one self-contained HTML page: learning curve, scores, judged examples with the order of reading."""
    from veriscene.experiments.judged_run import judge_run

    output.main_process_alone("report")
    print(judge_run(run, output.accelerator(), out=out).report)


@app.command()
def models(as_json: AsJson = False) -> None:
    """The models, the presets, the checkpoints that ship with the package, and the runs below runs/."""
    from veriscene.config import presets
    from veriscene.models import MODELS
    from veriscene.training.checkpoint import shipped_checkpoints

    listing = {
        "models": sorted(MODELS),
        "presets": sorted(presets()),
        "checkpoints": {name: str(path) for name, path in shipped_checkpoints().items()},
        "runs": sorted(
            str(path)
            for path in Path("runs").glob("*")
            if (path / "best" / "config.json").is_file() or (path / "summary.json").is_file()
        ),
    }
    if as_json:
        print(json.dumps(listing))
        return
    for kind, names in listing.items():
        print(f"{kind}: {', '.join(names) or 'none'}")


@app.command()
def quickstart(
    data: DataFolder = None,
    changes: Changes = None,
    seed: Seed = None,
    out: Out = None,
) -> None:
    """Make a corpus, train a small BiATT-Pointer, judge unseen statements, write a report. A few minutes."""
    from veriscene.config import load_preset
    from veriscene.experiments.quickstart import quickstart as run_quickstart

    output.main_process_alone("quickstart")
    accelerator = output.accelerator()
    config = load_preset("quick", [*(changes or []), *([] if seed is None else [f"training.seed={seed}"])])
    with output.progress_bar("making the corpus") as progress:
        result = run_quickstart(
            config, data=data, folder=out, accelerator=accelerator, say=output.say, progress=progress
        )
    if result is None:
        raise typer.Exit(INTERRUPTED)
    print(json.dumps(result))
