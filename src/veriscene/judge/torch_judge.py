"""A judge in torch, on any device."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import torch

from veriscene.data.batch import Batch
from veriscene.data.reader import ProgramReader
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.judge.checkpoint import Checkpoint
from veriscene.judge.folders import READER, find
from veriscene.judge.judge import FIELDS, NetworkJudge, Question, Verdict
from veriscene.models.reader import Reader


class TorchJudge(NetworkJudge):
    """Answers with a checkpoint, on the checkpoint's device."""

    def __init__(self, checkpoint: Checkpoint, reader: ProgramReader | None = None) -> None:
        self.checkpoint, self.encoder, self.order = checkpoint, checkpoint.encoder, checkpoint.model.order
        self.reader, self.name, self.metrics = reader, checkpoint.config.model.name, checkpoint.metrics

    @classmethod
    def load(cls, name_or_folder: str | Path, *, device: str = "cpu") -> TorchJudge:
        """Loads a shipped checkpoint by name, a folder that holds one, or `owner/name` on the Hugging Face hub."""
        try:
            torch.empty(1, device=device)
        except (RuntimeError, AssertionError) as error:
            what = f"cannot be used here ({next(iter(str(error).splitlines()), 'unknown')})"
            allowed = "use cpu, or cuda on a machine with a GPU"
            raise InputError(what, where=f"device {device!r}", allowed=allowed) from None
        folder = find(name_or_folder)
        reader = folder / READER
        return cls(
            checkpoints.load(folder, device=device), Reader.load(reader, device=device) if reader.exists() else None
        )

    def _saved(self) -> Checkpoint:
        return self.checkpoint

    def _write(self, folder: Path) -> None:
        checkpoints.save(folder, self.checkpoint)
        if self.reader is not None:
            self.reader.save(folder / READER)

    def _by_network(self, questions: list[Question], fields: Collection[str] = FIELDS) -> list[Verdict]:
        encoded = self._encode(questions)
        model = self.checkpoint.model
        if model.training:  # it visits every module, which takes as long as some layers
            model.eval()
        with torch.inference_mode():
            judgement = model(Batch.of(encoded).to(self.checkpoint.device))
        judged = {name: tensor for name, tensor in vars(judgement).items() if name in fields and tensor is not None}
        return self._verdicts(questions, encoded, {name: tensor.cpu().numpy() for name, tensor in judged.items()})
