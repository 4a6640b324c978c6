"""Scores a finished run and writes its report: `veriscene report`, and the last part of `quickstart`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from accelerate import Accelerator

from veriscene import files
from veriscene.evaluation import metrics, report
from veriscene.experiments.settings import flat
from veriscene.scenes import nlvr
from veriscene.serving.evaluate import probabilities
from veriscene.serving.judge import TorchJudge
from veriscene.training import checkpoint as checkpoints
from veriscene.training import run as runs
from veriscene.training.checkpoint import Checkpoint
from veriscene.training.progress import read_log

REPORT = "report.html"
# How the verdict follows from the box scores, by pooling; other poolings give boxes no scores.
_CAPTIONS = {"max": "the verdict is the highest of them", "mean": "the verdict is the mean of their log-odds"}


@dataclass(frozen=True)
class ReportedRun:
    scores: metrics.Scores
    majority: float  # the accuracy of always giving the more frequent answer
    report: Path


def report_run(run: Path, accelerator: Accelerator, *, out: Path | None = None) -> ReportedRun:
    """Scores the run's best checkpoint on the split that may be shown, and writes report.html into the run."""
    run = checkpoints.best_run(run)
    checkpoint = checkpoints.load(run, device=accelerator.device)
    record, settings = runs.read(run), flat(checkpoint.config)
    split, path = runs.scored_split(run)
    examples = nlvr.read(path)
    by_identifier = probabilities(TorchJudge(checkpoint), examples, accelerator)
    verdicts = {identifier: p > 0.5 for identifier, p in by_identifier.items()}
    scores = metrics.score(examples, verdicts)
    true = sum(example.label is True for example in examples) / len(examples)
    majority = max(true, 1 - true)
    facts = [
        ("preset", record.preset),
        ("supervision", record.supervision),
        ("seed", str(record.config.training.seed)),
        ("command", record.command),
        ("commit", record.commit or "unknown"),
        ("started", record.started),
        ("machine", record.machine),
    ]
    text = report.page(
        title=f"veriscene: {checkpoint.config.model.name}",
        subtitle=f"{run.name}: {split} split, {path.name}",
        facts=facts,
        settings=settings,
        log=read_log(run),
        scores=scores,
        majority=majority,
        slices=metrics.breakdown(examples, verdicts),
        shown=_shown(checkpoint, report.choose_examples(examples, by_identifier)),
        box_caption=_CAPTIONS.get(settings.get("model.pooling", "")),
    )
    target = out or run / REPORT
    files.write_text(target, text)
    return ReportedRun(scores, majority, target)


def _shown(checkpoint: Checkpoint, examples: list[nlvr.Example]) -> list[report.Shown]:
    verdicts = TorchJudge(checkpoint).stream((example.statement, example.scene) for example in examples)
    return [
        report.Shown(example, verdict.probability, verdict.per_box, verdict.order if verdict.order_is_chosen else None)
        for example, verdict in zip(examples, verdicts, strict=True)
    ]
