"""A finished run, judged and written up: what `veriscene report` and the main job show."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from accelerate import Accelerator

from veriscene import files
from veriscene.evaluation import metrics, report
from veriscene.evaluation.evaluate import probabilities
from veriscene.scenes import nlvr
from veriscene.serving.judge import Judge
from veriscene.training import checkpoint as checkpoints
from veriscene.training.checkpoint import Checkpoint
from veriscene.training.progress import read_log
from veriscene.training.run import scored_split

REPORT = "report.html"


@dataclass(frozen=True)
class JudgedRun:
    scores: metrics.Scores
    split: str
    majority: float  # the accuracy of always saying what is said more often
    report: Path


def judge_run(run: Path, accelerator: Accelerator, *, out: Path | None = None) -> JudgedRun:
    """Scores the run's best checkpoint on the split that may be shown, and writes report.html into the run."""
    run = checkpoints.best_run(run)
    checkpoint = checkpoints.load(run)
    split, path = scored_split(run)
    examples = nlvr.read(path)
    by_identifier = probabilities(checkpoint, examples, accelerator)
    verdicts = {identifier: p > 0.5 for identifier, p in by_identifier.items()}
    scores = metrics.score(examples, verdicts)
    chosen = report.choose_examples(examples, by_identifier)
    text = report.page(
        title=f"veriscene: {checkpoint.config.model.name}",
        subtitle=f"{run.name}: {split} split, {path.name}",
        log=read_log(run),
        scores=scores,
        slices=metrics.breakdown(examples, verdicts),
        shown=_shown(checkpoint, chosen),
    )
    target = out or run / REPORT
    files.write_text(target, text)
    true = sum(example.label is True for example in examples) / len(examples)
    return JudgedRun(scores, split, max(true, 1 - true), target)


def _shown(checkpoint: Checkpoint, examples: list[nlvr.Example]) -> list[report.Shown]:
    judge = Judge(checkpoint)
    verdicts = judge.stream((example.statement, example.scene) for example in examples)
    return [
        report.Shown(example, verdict.probability, verdict.per_box, verdict.order if verdict.order_is_chosen else None)
        for example, verdict in zip(examples, verdicts, strict=True)
    ]
