"""Puts a trained model into the package, in half precision and with a model card.

python benchmarks/ship.py RUN NAME [--alias best] --commit ID --machine TEXT [--note TEXT]

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

from veriscene import files, worlds
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.judge.card import model_card
from veriscene.judge.checkpoint import Checkpoint, TorchJudge
from veriscene.judge.evaluate import evaluate
from veriscene.judge.folders import ALIASES, WEIGHTS, best_run
from veriscene.metrics import accuracy as metrics
from veriscene.metrics.accuracy import Scores
from veriscene.training.spec import Record
from veriscene.world.corpus import split_file
from veriscene.world.examples import Example, read_predictions

SHIPPED = Path(__file__).resolve().parent.parent / "src" / "veriscene" / "checkpoints"
CARD = "MODEL_CARD.md"
MAX_BYTES = 20_000_000  # of weights
TOLERATED = 0.002  # loss of dev accuracy by half precision


def ship(
    folder: Path,
    name: str,
    *,
    commit: str,
    machine: str,
    alias: str | None = None,
    note: str | None = None,
    shipped: Path = SHIPPED,
) -> Path:
    """Returns the folder of the checkpoint that ships from now on."""
    own = best_run(folder)
    record = Record.read(own)
    if record.spec.corpus is None:
        raise InputError("trained on a synthetic corpus", where=own, allowed="ship a model trained on a real one")
    if alias and (shipped / alias).exists():
        raise InputError("a checkpoint of that name exists", where=f"--alias {alias}", allowed="choose another")
    examples = worlds.read(split_file(record.spec.corpus, "dev"))
    whole = checkpoints.load(own)
    with tempfile.TemporaryDirectory() as scratch:
        checkpoints.save(Path(scratch) / name, whole, half=True)
        size = (Path(scratch) / name / WEIGHTS).stat().st_size
        dev = scores_of(checkpoints.load(Path(scratch) / name), examples)
    if size > MAX_BYTES:
        raise InputError(f"{size:,} bytes of weights", where=own, allowed=f"at most {MAX_BYTES:,}")
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
        "corpus": "NLVR",
        "dev_accuracy": dev.accuracy,
        "dev_consistency": dev.consistency,
        "dev_interval": list(dev.interval),
        **_recorded_test_scores(own, record.spec.corpus),
        "commit": commit,
        "machine": machine,
        **({"note": note} if note else {}),
    }
    whole = replace(whole, metrics=figures)
    card = model_card(whole, name=name, scores={})
    checkpoints.save(shipped / name, whole, lambda new: files.write_text(new / CARD, card), half=True)
    if alias:
        files.write_text(shipped / ALIASES, json.dumps({**aliases, alias: name}, indent=1) + "\n")
    return shipped / name


def scores_of(checkpoint: Checkpoint, examples: list[Example]) -> Scores:
    return evaluate(TorchJudge(checkpoint), examples)


def _recorded_test_scores(own: Path, data: Path) -> dict[str, object]:
    """Scores of the verdicts that `veriscene reproduce` recorded; the model is not run on test here."""
    if not (own / "test.csv").is_file():
        return {}
    examples = worlds.read(split_file(data, "test"))
    scores = metrics.score(examples, read_predictions(own / "test.csv"))
    return {
        "test_accuracy": scores.accuracy,
        "test_consistency": scores.consistency,
        "test_interval": list(scores.interval),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("name")
    parser.add_argument("--alias", help="another name for it, for example best")
    parser.add_argument("--commit", required=True, help="with which it was trained")
    parser.add_argument("--machine", required=True, help="on which it was trained, in words")
    parser.add_argument("--note", help="what else to know about its scores, for the model card")
    given = vars(parser.parse_args())
    try:
        print(ship(given.pop("run"), given.pop("name"), **given))
    except InputError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
