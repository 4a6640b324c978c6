"""Puts a trained model into the package: half precision, a model card beside it, an alias if wanted.

python benchmarks/ship.py RUN NAME --alias best --commit ID --machine TEXT

RUN is a run or a folder of seeds, of which the best one on dev ships. Nothing is written if the halved weights judge
dev worse, if they are too large, or if what ships under that name already judges dev better.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path

from accelerate import Accelerator

from veriscene.config import Config, load_preset
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
    preset = json.loads(nlvr.read_text(own / run.RUN))["preset"]
    examples = nlvr.read(nlvr.split_file(run.corpus_of(own), "dev"))
    whole = checkpoints.load(own)
    partial, place = shipped / f".{name}", shipped / name
    checkpoints.save(partial, whole, half=True)
    halved = checkpoints.load(partial)
    dev = _scores(halved, examples)
    try:
        lost = _scores(whole, examples).accuracy - dev.accuracy
        if lost > TOLERATED:
            raise InputError(f"{own}: half precision costs {lost:.2%} of dev; ship another one")
        if (size := (partial / WEIGHTS).stat().st_size) > LARGEST:
            raise InputError(f"{own}: {size:,} bytes of weights, at most {LARGEST:,} may ship")
        if place.exists() and (before := _scores(checkpoints.load(place), examples).accuracy) > dev.accuracy:
            raise InputError(
                f"{place}: judges dev better ({before:.1%}) than {own} ({dev.accuracy:.1%}); left as it is"
            )
        told = {"dev_accuracy": dev.accuracy, "dev_consistency": dev.consistency}
        told |= _kept_test_scores(own)
        kept = {key: whole.metrics[key] for key in ("step", "supervision") if key in whole.metrics}
        figures = {**kept, **told, "commit": commit, "machine": machine}
        card = model_card(name, preset, whole.config, figures)
        checkpoint = replace(whole, metrics=figures)
        checkpoints.save(place, checkpoint, lambda new: nlvr.write_text(new / CARD, card), half=True)
    finally:
        for file in partial.iterdir():
            file.unlink()
        partial.rmdir()
    if alias:
        names = json.loads(nlvr.read_text(shipped / ALIASES)) if (shipped / ALIASES).is_file() else {}
        nlvr.write_text(shipped / ALIASES, json.dumps({**names, alias: name}, indent=1) + "\n")
    return place


def model_card(name: str, preset: str, config: Config, figures: dict[str, object]) -> str:
    """What a person must know before using the weights."""
    usual, settings = load_preset(preset).to_json(), config.to_json()
    changes = [
        f"{section}.{key}={value}"
        for section, values in settings.items()
        for key, value in values.items()
        if value != usual[section][key] and (section, key) != ("training", "seed")
    ]
    sets = [part for change in changes for part in ("--set", change)]
    command = shlex.join(["veriscene", "train", preset, "--data", "NLVR", "--seed", str(config.training.seed), *sets])

    boxes = 'Of the boxes it finds the one that fits best, so "exactly two boxes have a tower of …" is beyond it.\n'
    boxes = boxes if config.model.pooling == "max" else ""

    def share(key: str) -> str:
        return f"{100 * value:.1f}" if isinstance(value := figures.get(key), float) else "not measured"

    return f"""# {name}

Decides whether an English statement is true of a scene of three boxes with coloured items, as in the Cornell NLVR
corpus (structured representations). A `{config.model.name}` after Tan and Bansal (NAACL 2018). Weights are kept in half
precision and used in single.

    veriscene predict {name} --statement "There is a yellow circle." --scene scene.json

| NLVR | accuracy, % | consistency, % |
| --- | --- | --- |
| dev (on which step and seed were chosen, which flatters) | {share("dev_accuracy")} | {share("dev_consistency")} |
| public test | {share("test_accuracy")} | {share("test_consistency")} |

Trained with

    {command}

at commit {figures["commit"]}, on {figures["machine"]}; supervision: {figures.get("supervision", "unknown")};
the weights of step {figures.get("step", "unknown")}.

## What it is for, and what not

For research on grounded language, for teaching, and to be compared with. It knows the words, shapes, colours and sizes
of NLVR and no others. A word that it has not learnt is read as unknown; it never says that it does not understand.
{boxes}How often it is wrong is in the table above. It was trained on crowd-sourced English about drawings; nothing
that concerns people should hang on it.
"""


def _scores(checkpoint: Checkpoint, examples: list[nlvr.Example]) -> Scores:
    judged = probabilities(checkpoint, examples, Accelerator(cpu=True))
    return metrics.score(examples, {identifier: p > 0.5 for identifier, p in judged.items()})


def _kept_test_scores(own: Path) -> dict[str, float]:
    """Of the verdicts that `veriscene reproduce` kept; test is not looked at here."""
    if not (own / "test.csv").is_file():
        return {}
    examples = nlvr.read(nlvr.split_file(run.corpus_of(own), "test"))
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
