"""Judges on the Hugging Face hub: from_pretrained, save_pretrained, push_to_hub."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from huggingface_hub import ModelCard, ModelHubMixin

from veriscene.errors import InputError
from veriscene.judge.folders import CONFIG, DOWNLOADED, download, is_repository
from veriscene.metrics.accuracy import Scores

if TYPE_CHECKING:
    from veriscene.judge.checkpoint import Checkpoint
    from veriscene.judge.judge import Judge


class HubMixin(ModelHubMixin):
    """Does what huggingface_hub expects of a model. It saves a checkpoint folder with a model card, README.md."""

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
        from veriscene.judge import load

        place = pretrained_model_name_or_path
        if is_repository(place):
            place = download(str(place), DOWNLOADED, **options)
        return load(place, device=device)

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
        from veriscene.judge.card import model_card

        checkpoint = self._saved()
        return ModelCard(model_card(checkpoint, name=name or checkpoint.config.model.name, scores=scores or {}))

    def _save_pretrained(self, save_directory: Path) -> None:
        """Replaces the files of a checkpoint and no others. The mixin has removed config.json, which comes last: after
        a failure the folder is not a checkpoint, rather than a mixture of two."""
        with tempfile.TemporaryDirectory(prefix=".partial-", dir=save_directory) as scratch:
            self._write(Path(scratch) / "new")
            for name in sorted(DOWNLOADED, key=lambda name: name == CONFIG):
                if (Path(scratch) / "new" / name).exists():
                    (Path(scratch) / "new" / name).replace(save_directory / name)
                else:
                    (save_directory / name).unlink(missing_ok=True)  # that of another judge

    def _write(self, folder: Path) -> None:
        """Writes the files of a checkpoint to a new folder."""
        raise NotImplementedError

    def _saved(self) -> Checkpoint:
        """Returns what is saved; raises InputError if the judge is not that of a checkpoint."""
        allowed = "save the judge of a checkpoint: a model of torch, without eyes"
        raise InputError(f"{type(self).__name__} cannot be saved", allowed=allowed)
