"""Puts a trained model into the package, in half precision and with a model card.

python benchmarks/ship.py RUN NAME [--alias best] --commit ID --machine TEXT

RUN is a run, or a folder of seeds, whose best one on dev is taken. Nothing is written if half precision costs more than
0.2 points of dev accuracy, if the weights are too large, or if the model that has the name or alias now is better on
dev.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from accelerate import Accelerator

from veriscene import files
from veriscene.config import Config
from veriscene.errors import InputError
from veriscene.evaluation import metrics
from veriscene.evaluation.metrics import Scores
from veriscene.scenes import nlvr
from veriscene.serving.evaluate import probabilities
from veriscene.serving.judge import TorchJudge
from veriscene.training import checkpoint as checkpoints
from veriscene.training import run
from veriscene.training.checkpoint import ALIASES, WEIGHTS, Checkpoint

SHIPPED = Path(__file__).resolve().parent.parent / "src" / "veriscene" / "checkpoints"
CARD = "MODEL_CARD.md"
MOST_BYTES = 20_000_000  # of weights
TOLERATED = 0.002  # loss of dev accuracy by half precision


def ship(folder: Path, name: str, *, commit: str, machine: str, alias: str | None, shipped: Path = SHIPPED) -> Path:
    """Returns the folder of the checkpoint that ships from now on."""
    own = checkpoints.best_run(folder)
    record = run.read(own)
    if record.data is None:
        raise InputError("trained on a synthetic corpus", where=own, allowed="ship a model trained on a real one")
    if alias and (shipped / alias).exists():
        raise InputError("a checkpoint of that name exists", where=f"--alias {alias}", allowed="choose another")
    examples = nlvr.read(nlvr.split_file(record.data, "dev"))
    whole = checkpoints.load(own)
    with tempfile.TemporaryDirectory() as scratch:
        checkpoints.save(Path(scratch) / name, whole, half=True)
        size = (Path(scratch) / name / WEIGHTS).stat().st_size
        dev = scores_of(checkpoints.load(Path(scratch) / name), examples)
    if size > MOST_BYTES:
        raise InputError(f"{size:,} bytes of weights", where=own, allowed=f"at most {MOST_BYTES:,}")
    if (lost := scores_of(whole, examples).accuracy - dev.accuracy) > TOLERATED:
        raise InputError(f"half precision costs {lost:.2%} of dev", where=own, allowed="ship another one")
    aliases = json.loads(files.read_text(shipped / ALIASES)) if (shipped / ALIASES).is_file() else {}
    for rival in sorted({name, aliases.get(alias, name)}):
        if (shipped / rival).exists():
            before = scores_of(checkpoints.load(shipped / rival), examples).accuracy
            if before > dev.accuracy:
                what = f"is better on dev ({before:.1%}) than {own} ({dev.accuracy:.1%})"
                raise InputError(what, where=shipped / rival)
    kept = {key: whole.metrics[key] for key in ("step", "supervision") if key in whole.metrics}
    figures = {
        **kept,
        "dev_accuracy": dev.accuracy,
        "dev_consistency": dev.consistency,
        **_recorded_test_scores(own, record.data),
        "commit": commit,
        "machine": machine,
    }
    card = model_card(name, record.preset, whole.config, figures)
    whole = replace(whole, metrics=figures)
    checkpoints.save(shipped / name, whole, lambda new: files.write_text(new / CARD, card), half=True)
    if alias:
        files.write_text(shipped / ALIASES, json.dumps({**aliases, alias: name}, indent=1) + "\n")
    return shipped / name


def model_card(name: str, preset: str, config: Config, figures: dict[str, object]) -> str:
    """What to know before using the weights."""
    takes_max = config.to_json()["model"].get("pooling") == "max"
    boxes = 'It takes the box that fits best, so statements like "exactly two boxes have a tower of …" are beyond it.\n'

    def share(key: str) -> str:
        return f"{100 * value:.1f}" if isinstance(value := figures.get(key), float) else "not measured"

    return f"""# {name}

Decides whether an English statement is true of a scene of three boxes with coloured items, as in the Cornell NLVR
corpus (structured representations). The model is the package's `{config.model.name}`. Its weights are stored in half
precision and used in single precision.

    veriscene predict {name} --statement "There is a yellow circle." --scene scene.json

| NLVR | accuracy, % | consistency, % |
| --- | --- | --- |
| dev (optimistic: step and seed were chosen on it) | {share("dev_accuracy")} | {share("dev_consistency")} |
| public test (evaluated once, before shipping) | {share("test_accuracy")} | {share("test_consistency")} |

Trained with `veriscene train {preset} --data NLVR --seed {config.training.seed}` and the settings in config.json,
at commit {figures["commit"]}, on {figures["machine"]};
supervision: {figures.get("supervision", "unknown")}; the weights of step {figures.get("step", "unknown")}.

## Intended use and limits

For research on grounded language, for teaching, and as a baseline. It knows only the words, shapes, colours and sizes
of NLVR. Unknown words are listed with each verdict, but the model ignores what they mean.
{boxes if takes_max else ""}The table above says how often it is wrong. It was trained on crowd-sourced English about
drawings; do not use it for decisions that affect people.
"""


def scores_of(checkpoint: Checkpoint, examples: list[nlvr.Example]) -> Scores:
    judged = probabilities(TorchJudge(checkpoint), examples, Accelerator(cpu=True))
    return metrics.score(examples, {identifier: p > 0.5 for identifier, p in judged.items()})


def _recorded_test_scores(own: Path, data: Path) -> dict[str, float]:
    """Scores of the verdicts that `veriscene reproduce` recorded; the model is not run on test here."""
    if not (own / "test.csv").is_file():
        return {}
    examples = nlvr.read(nlvr.split_file(data, "test"))
    scores = metrics.score(examples, nlvr.read_predictions(own / "test.csv"))
    return {"test_accuracy": scores.accuracy, "test_consistency": scores.consistency}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("name")
    parser.add_argument("--alias", help="another name for it, for example best")
    parser.add_argument("--commit", required=True, help="with which it was trained")
    parser.add_argument("--machine", required=True, help="on which it was trained, in words")
    given = parser.parse_args()
    try:
        print(ship(given.run, given.name, commit=given.commit, machine=given.machine, alias=given.alias))
    except InputError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
