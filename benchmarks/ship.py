"""Puts a trained model into the package: half precision, a model card beside it, an alias if wanted.

python benchmarks/ship.py RUN NAME --alias best --commit ID --machine TEXT

RUN is a run or a folder of seeds, of which the best one on dev ships. Nothing is written if halving costs more than 0.2
points of dev, if the weights are too large, or if what has the name or the alias already judges dev better.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from accelerate import Accelerator

from veriscene import files, models
from veriscene.config import Config
from veriscene.errors import InputError
from veriscene.evaluation import metrics
from veriscene.evaluation.evaluate import probabilities
from veriscene.evaluation.metrics import Scores
from veriscene.scenes import nlvr
from veriscene.training import checkpoint as checkpoints
from veriscene.training import run
from veriscene.training.checkpoint import ALIASES, WEIGHTS, Checkpoint

SHIPPED = Path(__file__).resolve().parent.parent / "src" / "veriscene" / "checkpoints"
CARD = "MODEL_CARD.md"
LARGEST = 20_000_000  # bytes of weights
TOLERATED = 0.002  # of dev accuracy, lost to half precision


def ship(folder: Path, name: str, *, commit: str, machine: str, alias: str | None, shipped: Path = SHIPPED) -> Path:
    """The folder of the checkpoint that now ships."""
    own = checkpoints.best_run(folder)
    record = json.loads(files.read_text(own / run.RUN))
    if record["data"] is None:
        raise InputError(f"{own}: learnt from the embedded corpus; what ships must have learnt from a real one")
    if alias and (shipped / alias).exists():
        raise InputError(f"--alias {alias}: a checkpoint of that name ships already; choose another")
    examples = nlvr.read(nlvr.split_file(Path(record["data"]), "dev"))
    whole = checkpoints.load(own)
    with tempfile.TemporaryDirectory() as scratch:
        checkpoints.save(Path(scratch) / name, whole, half=True)
        size = (Path(scratch) / name / WEIGHTS).stat().st_size
        dev = scores_of(checkpoints.load(Path(scratch) / name), examples)
    if size > LARGEST:
        raise InputError(f"{own}: {size:,} bytes of weights, at most {LARGEST:,} may ship")
    if (lost := scores_of(whole, examples).accuracy - dev.accuracy) > TOLERATED:
        raise InputError(f"{own}: half precision costs {lost:.2%} of dev; ship another one")
    aliases = json.loads(files.read_text(shipped / ALIASES)) if (shipped / ALIASES).is_file() else {}
    for rival in sorted({name, aliases.get(alias, name)}):
        if (shipped / rival).exists():
            before = scores_of(checkpoints.load(shipped / rival), examples).accuracy
            if before > dev.accuracy:
                raise InputError(f"{shipped / rival}: judges dev better ({before:.1%}) than {own} ({dev.accuracy:.1%})")
    kept = {key: whole.metrics[key] for key in ("step", "supervision") if key in whole.metrics}
    figures = {
        **kept,
        "dev_accuracy": dev.accuracy,
        "dev_consistency": dev.consistency,
        **_kept_test_scores(own, Path(record["data"])),
        "commit": commit,
        "machine": machine,
    }
    card = model_card(name, record["preset"], whole.config, figures)
    whole = replace(whole, metrics=figures)
    checkpoints.save(shipped / name, whole, lambda new: files.write_text(new / CARD, card), half=True)
    if alias:
        files.write_text(shipped / ALIASES, json.dumps({**aliases, alias: name}, indent=1) + "\n")
    return shipped / name


def model_card(name: str, preset: str, config: Config, figures: dict[str, object]) -> str:
    """What a person must know before using the weights."""
    finds_one_box = (
        config.model.pooling == "max" and "pooling" in inspect.signature(models.MODELS[config.model.name]).parameters
    )
    boxes = 'Of the boxes it finds the one that fits best, so "exactly two boxes have a tower of …" is beyond it.\n'

    def share(key: str) -> str:
        return f"{100 * value:.1f}" if isinstance(value := figures.get(key), float) else "not measured"

    return f"""# {name}

Decides whether an English statement is true of a scene of three boxes with coloured items, as in the Cornell NLVR
corpus (structured representations). The model is the package's `{config.model.name}`. Its weights are kept in half
precision and used in single.

    veriscene predict {name} --statement "There is a yellow circle." --scene scene.json

| NLVR | accuracy, % | consistency, % |
| --- | --- | --- |
| dev (on which step and seed were chosen, which flatters) | {share("dev_accuracy")} | {share("dev_consistency")} |
| public test (looked at once, before they shipped) | {share("test_accuracy")} | {share("test_consistency")} |

Trained with `veriscene train {preset} --data NLVR --seed {config.training.seed}` and the settings in config.json beside
this card, at commit {figures["commit"]}, on {figures["machine"]};
supervision: {figures.get("supervision", "unknown")}; the weights of step {figures.get("step", "unknown")}.

## What it is for, and what not

For research on grounded language, for teaching, and to be compared with. It knows the words, shapes, colours and sizes
of NLVR and no others. A word that it has not learnt is read as unknown; it never says that it does not understand.
{boxes if finds_one_box else ""}How often it is wrong is in the table above. It was trained on crowd-sourced English
about drawings; nothing that concerns people should hang on it.
"""


def scores_of(checkpoint: Checkpoint, examples: list[nlvr.Example]) -> Scores:
    judged = probabilities(checkpoint, examples, Accelerator(cpu=True))
    return metrics.score(examples, {identifier: p > 0.5 for identifier, p in judged.items()})


def _kept_test_scores(own: Path, data: Path) -> dict[str, float]:
    """Of the verdicts that `veriscene reproduce` kept; test is not looked at here."""
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
    parser.add_argument("--commit", required=True, help="that trained it")
    parser.add_argument("--machine", required=True, help="that trained it, in words")
    given = parser.parse_args()
    try:
        print(ship(given.run, given.name, commit=given.commit, machine=given.machine, alias=given.alias))
    except InputError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
