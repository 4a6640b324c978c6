"""Model cards: what to know before using a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any

from huggingface_hub import EvalResult, ModelCardData

from veriscene import models, worlds
from veriscene.config import Config, changes_between, presets, train_command
from veriscene.data.vocabulary import SPECIAL
from veriscene.judge.checkpoint import Checkpoint
from veriscene.metrics.accuracy import Scores
from veriscene.models.settings import with_effect
from veriscene.world.schema import World

CARD = Path(__file__).with_name("card.md")
SPLITS = ("dev", "test")
SUPERVISION = {
    "labels": "labels of the training examples",
    "synthetic": "statements of veriscene's grammar, whose meaning is known",
    "programs": "programs of the statements in PROGRAMS",
}
GRAMMAR = "Statements of veriscene's grammar taught it{too}.\n"
PROGRAMS_TOO = ", PROGRAMS a file of statements with their programs"
MAX_POOLING = 'It takes the box that fits best, so statements like "exactly two boxes have a tower" are beyond it.\n'
OWN = "the corpus that it was trained on"  # where metrics.json does not name one


def model_card(checkpoint: Checkpoint, *, name: str, scores: Mapping[str, Scores]) -> str:
    """Writes a card in the hub's format: YAML header, use, accuracy with interval, training, limits, citation.

    Scores come from `scores`, by split, else from the checkpoint's metrics. The card states what is recorded there and
    nothing else; how test was used, for example, is for `note` to say. It does not name the machine's folders.
    """
    config, world = checkpoint.config, checkpoint.encoder.world
    metrics = {**checkpoint.metrics, **_figures(scores)}
    supervision = str(metrics.get("supervision", "unknown"))
    by_programs = supervision == "programs"
    step = [str(metrics.get("step", "unknown"))]
    step += [f"{word} {metrics[key]}" for word, key in (("at commit", "commit"), ("on", "machine")) if key in metrics]
    grammar = GRAMMAR.format(too=", too" if by_programs else "") + str(worlds.ability(world, "GRAMMAR_NOTE") or "")
    reads_letters = getattr(config.model, "letters", False)
    return Template(CARD.read_text(encoding="utf-8")).substitute(
        header=_header(name, world, metrics),
        name=name,
        world=world.name,
        boxes=_boxes(world),
        model=config.model.name,
        summary=models.MODELS[config.model.name].summary,
        corpus=metrics.get("corpus", OWN),
        rows="\n".join(_row(split, metrics) for split in SPLITS if split == "dev" or f"{split}_accuracy" in metrics),
        note=f"\n\n{metrics['note']}" if "note" in metrics else "",  # what else to know about the scores
        command=training_command(config, supervision),
        programs=PROGRAMS_TOO if by_programs else "",
        supervision=supervision,
        explained=SUPERVISION.get(supervision, "not recorded"),
        grammar=grammar if config.teacher.statements else "",
        step=", ".join(step),
        known=len(checkpoint.encoder.vocabulary) - len(SPECIAL),
        others="are read by their letters" if reads_letters else "are all read as the same unknown word",
        limit=MAX_POOLING if getattr(config.model, "pooling", None) == "max" else "",
    )


def _boxes(world: World) -> str:
    (fewest, most), (least, fullest) = world.boxes, world.items
    count = str(most) if fewest == most else f"{fewest} to {most}"
    attributes = ", ".join(attribute.name for attribute in world.attributes)
    return f"{count} {world.box.plural} of {least} to {fullest} {world.item.plural} with {attributes}"


def changes_with_effect(preset: str, config: Config, *, taught: bool) -> list[str]:
    """Returns what `--set` must say to train `config` with a preset on a given corpus."""
    changes = changes_between(models.load_preset(preset), config)
    return with_effect(changes, config.model, taught=taught)


def training_command(config: Config, supervision: str) -> str:
    """Returns a command that trains with exactly these settings: the nearest preset and the settings that differ."""
    taught = supervision == "programs" or config.teacher.statements > 0

    def changes(preset: str) -> list[str]:
        named = changes_with_effect(preset, config, taught=taught)
        return [change for change in named if not change.startswith(("training.seed=", "teacher.workers="))]

    nearest = min(sorted(presets()), key=lambda name: len(changes(name)))
    options = ["--teacher", "PROGRAMS"] if supervision == "programs" else []
    options += ["--seed", str(config.training.seed)]
    return train_command(nearest, changes(nearest), data="CORPUS", options=options)


def _figures(scores: Mapping[str, Scores]) -> dict[str, Any]:
    """Returns scores under the names of metrics.json."""
    figures: dict[str, Any] = {}
    for split, found in scores.items():
        figures[f"{split}_accuracy"], figures[f"{split}_consistency"] = found.accuracy, found.consistency
        figures[f"{split}_interval"] = list(found.interval)
    return figures


def _row(split: str, metrics: Mapping[str, Any]) -> str:
    def share(key: str) -> str:
        return f"{100 * value:.1f}" if isinstance(value := metrics.get(key), float) else "not measured"

    interval = metrics.get(f"{split}_interval")
    between = f"{100 * interval[0]:.1f} to {100 * interval[1]:.1f}" if interval else "not measured"
    return f"| {split} | {share(f'{split}_accuracy')} | {share(f'{split}_consistency')} | {between} |"


def _header(name: str, world: World, metrics: Mapping[str, Any]) -> str:
    corpus = str(metrics.get("corpus", OWN))
    results = [
        EvalResult(
            task_type="visual-reasoning",
            dataset_type=corpus.lower() if corpus != OWN else "own",
            dataset_name=corpus,
            dataset_split=split,
            metric_type="accuracy",
            metric_value=round(metrics[f"{split}_accuracy"], 4),
        )
        for split in SPLITS
        if isinstance(metrics.get(f"{split}_accuracy"), float)
    ]
    data = ModelCardData(
        language="en",
        license="mit",
        library_name="veriscene",
        tags=["veriscene", world.name, "visual-reasoning", "grounded-language", "pytorch"],
        metrics=["accuracy"],
        model_name=name if results else None,
        eval_results=results or None,
    )
    return data.to_yaml().rstrip()
