"""Model cards: what to know before using a checkpoint."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any, Self

from huggingface_hub import EvalResult, ModelCard, ModelCardData, ModelHubMixin

from veriscene import models, worlds
from veriscene.config import Config, changes_between, presets, train_command
from veriscene.data.vocabulary import SPECIAL
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.judge.checkpoint import CONFIG, FILES, READER, Checkpoint
from veriscene.metrics.accuracy import Scores
from veriscene.models.settings import with_effect
from veriscene.world.schema import World

if TYPE_CHECKING:
    from veriscene.judge.judge import Judge

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
    return with_effect(changes, config.model, corpus_given=True, taught=taught)


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


# ---------------------------------------------------------------- hub

# Judges on the Hugging Face hub: from_pretrained, save_pretrained, push_to_hub.


class HubMixin(ModelHubMixin):
    """What huggingface_hub expects of a model. The saved folder is a checkpoint folder with a model card, README.md."""

    def __new__(cls, *args: object, **options: object) -> Self:
        # ModelHubMixin.__new__ makes a config.json of the constructor's arguments, for which it would copy the weights.
        # A checkpoint has its own config.json.
        return object.__new__(cls)

    @classmethod
    def from_pretrained(  # the mixin's reads config.json itself
        cls, pretrained_model_name_or_path: str | Path, *, device: str = "cpu", **options: Any
    ) -> Judge:
        """Loads a judge from `owner/name` on the hub, a folder that `save_pretrained` or `veriscene train` wrote, or
        the name of a shipped checkpoint. Further options are those of the download: revision, token, cache_dir, …"""
        place = pretrained_model_name_or_path
        if checkpoints.is_repository(place):
            place = checkpoints.download(str(place), (*FILES, READER), **options)
        return cls._of_checkpoint(place, device=device)

    @classmethod
    def _of_checkpoint(cls, folder: str | Path, *, device: str) -> Judge:
        raise NotImplementedError

    def save_pretrained(self, save_directory: str | Path, **options: Any) -> str | None:
        """Writes the checkpoint to a folder, with a card unless it has a README.md; other files stay as they are.

        The options are huggingface_hub's; model_card_kwargs are those of `generate_model_card`.
        """
        self._saved()  # the mixin removes config.json before it asks for what is to be saved
        if Path(save_directory).is_file():
            raise InputError("is a file", where=save_directory, allowed="name a folder")
        return super().save_pretrained(save_directory, **options)

    def push_to_hub(self, repo_id: str, **options: Any) -> str:
        """Saves the judge to a repository on the hub, whose name the model card then has; needs `hf auth login`.

        Returns the address of the commit. The options are huggingface_hub's, such as private=True.
        """
        named = {"name": repo_id, **(options.pop("model_card_kwargs", None) or {})}
        return str(super().push_to_hub(repo_id, model_card_kwargs=named, **options))

    def generate_model_card(self, *, name: str | None = None, scores: Mapping[str, Scores] | None = None) -> ModelCard:
        """Returns the card, with the scores that are known by split; by default those that training recorded."""
        checkpoint = self._saved()
        return ModelCard(model_card(checkpoint, name=name or checkpoint.config.model.name, scores=scores or {}))

    def _save_pretrained(self, save_directory: Path) -> None:
        """Replaces the files of a checkpoint and no others. The mixin has removed config.json, which comes last: after
        a failure the folder is not a checkpoint, rather than a mixture of two."""
        if (reader := getattr(self, "reader", None)) is not None:
            reader.save(save_directory / READER)
        else:
            (save_directory / READER).unlink(missing_ok=True)  # that of another judge
        with tempfile.TemporaryDirectory(prefix=".partial-", dir=save_directory) as scratch:
            checkpoints.save(Path(scratch) / "new", self._saved())
            for name in sorted(FILES, key=lambda name: name == CONFIG):
                (Path(scratch) / "new" / name).replace(save_directory / name)

    def _saved(self) -> Checkpoint:
        """Returns what is saved; raises InputError if the judge is not that of a checkpoint."""
        allowed = "save the judge of a checkpoint: a model of torch, without eyes"
        raise InputError(f"{type(self).__name__} cannot be saved", allowed=allowed)
