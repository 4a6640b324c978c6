"""Scores finished runs and writes their report: `veriscene report`, and the last part of `quickstart`."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

import torch
from accelerate import Accelerator

from veriscene import __version__, files, worlds
from veriscene.config import flat
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.judge.checkpoint import TorchJudge
from veriscene.judge.evaluate import judged, probabilities
from veriscene.judge.folders import best_run
from veriscene.language.program import read_programs
from veriscene.metrics import accuracy as metrics
from veriscene.metrics.judged import Judged, by_sentence, first_per_statement, mistakes, typical
from veriscene.report.page import ReportedRun, majority, page
from veriscene.training.log import read_log
from veriscene.training.spec import Record, corpus_of, scored_split
from veriscene.world.examples import Example

REPORT, COMPARISON = "report.html", "comparison.html"
PAGE = b"<!DOCTYPE html>"  # how a report begins
SHOWN = 6  # most confident mistakes, and examples judged right
# How the verdict follows from the box scores, by pooling; other poolings give boxes no scores.
_CAPTIONS = {"max": "the verdict is the highest of them", "mean": "the verdict is the mean of their log-odds"}


@dataclass(frozen=True)
class Report:
    """Says what was scored, and where it is written."""

    scores: metrics.Scores  # of the first run
    majority: float  # the accuracy of always giving the more frequent answer
    report: Path


def report_run(
    run: Path,
    accelerator: Accelerator,
    *,
    against: Path | None = None,
    programs: Path | None = None,
    out: Path | None = None,
) -> Report:
    """Scores the best checkpoint of a run, and of the run to compare with, on the split that may be shown.

    Writes report.html (comparison.html for two runs) into the first run, or the file `out`. `programs` are those of
    the split's statements: they tell whether a mistake is the model's.
    """
    folders = [best_run(folder) for folder in (run, against) if folder is not None]
    target = out or folders[0] / (REPORT if against is None else COMPARISON)
    if target.is_file() and not _is_page(target):
        raise InputError("exists, and is no report", where=target, allowed="name another file with --out")
    splits = [scored_split(folder) for folder in folders]
    world = Record.read(folders[0]).spec.world
    meanings = None if programs is None else by_sentence(read_programs(programs, worlds.language(world)))
    examples = worlds.read(splits[0][1], world)
    if len(folders) == 2 and worlds.read(splits[1][1], world) != examples:
        what = f"is scored on other examples ({splits[1][1]}) than {folders[0]} ({splits[0][1]})"
        raise InputError(what, where=folders[1], allowed="compare runs on the same corpus")
    names = [folder.name for folder in folders]
    if len(set(names)) < len(names):
        names = [str(folder) for folder in folders]
    seen = metrics.train_statements(corpus_of(folders[0]), world)
    shown = [_reported(folder, name, examples, seen, accelerator) for folder, name in zip(folders, names, strict=True)]
    split, path = splits[0]
    text = page(f"veriscene: {' and '.join(names)}", f"{split} split, {path.name}", shown, meanings)
    files.write_text(target, text, follow=out is not None)  # the run may be a stranger's
    return Report(metrics.score(examples, shown[0].verdicts), majority(examples), target)


def _is_page(file: Path) -> bool:
    """Whether nothing is lost if it is replaced by a report."""
    with files.opened(file) as stream:
        return stream.read(len(PAGE)) in (b"", PAGE)


def _reported(
    run: Path, name: str, examples: list[Example], seen: frozenset[str] | None, accelerator: Accelerator
) -> ReportedRun:
    checkpoint = checkpoints.load(run, device=accelerator.device)
    record, settings, judge = Record.read(run), flat(checkpoint.config), TorchJudge(checkpoint)
    probability = probabilities(judge, examples, accelerator)
    every = [Judged(example, probability[example.identifier]) for example in examples]
    worst = first_per_statement(mistakes(every), lambda each: each.example.statement)[:SHOWN]
    # Judged again, with order and box scores, which would take much memory for all examples.
    wrong, right = (judged(judge, [each.example for each in some]) for some in (worst, typical(every, SHOWN)))
    facts = [
        ("model", checkpoint.config.model.name),
        ("preset", record.spec.preset),
        ("supervision", record.supervision),
        ("seed", str(record.spec.config.training.seed)),
        ("command", record.command),
        ("commit", record.commit or "unknown"),
        ("started", record.started),
        ("machine", record.machine),
        ("report made with", f"veriscene {__version__}, torch {torch.__version__}, Python {platform.python_version()}"),
    ]
    caption = _CAPTIONS.get(settings.get("model.pooling", ""))
    return ReportedRun(name, facts, settings, read_log(run), every, wrong, right, seen, caption)
