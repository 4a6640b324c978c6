"""`veriscene train` (one run, or several seeds), `pretrain`, `train-reader`, `settings`, `quickstart`, `report`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from veriscene import config
from veriscene.cli import output
from veriscene.cli.output import INTERRUPTED, Changes, DataFolder, Initial, Out, Seed, Shard, Teacher, argument, option
from veriscene.config import ReaderTraining
from veriscene.errors import InputError
from veriscene.output import counted

if TYPE_CHECKING:
    from veriscene.metrics.accuracy import Summary
    from veriscene.training.distributed import Machine
    from veriscene.training.spec import Spec
    from veriscene.training.train import Result

HELD_OUT = {"cuda": 512, "cpu": 32}  # scenes judged for each progress line of `pretrain`; a CPU takes seconds for more


def train(
    preset: Annotated[
        str | None, argument("quick, biatt-pointer, ...: see `veriscene models`.", metavar="PRESET|FILE.toml")
    ] = None,
    data: DataFolder = None,
    changes: Changes = None,
    seed: Seed = None,
    teacher: Teacher = None,
    initial: Initial = None,
    world: Annotated[
        str | None,
        option(
            "What scenes can contain. Without --data a teacher makes statements and scenes for this world."
            " Default: world.toml of the corpus, or nlvr.",
            metavar="NAME|FILE.toml",
        ),
    ] = None,
    seeds: Annotated[int | None, option("Train this many seeds; prints mean, spread and best.")] = None,
    shard: Shard = None,
    train_share: Annotated[
        float | None, option("Learn from this share of the train statements only.", metavar="SHARE")
    ] = None,
    out: Out = None,
    resume: Annotated[Path | None, option("Continue this run where it stopped.")] = None,
    or_resume: Annotated[
        bool, option("Continue the run in --out if there is one: for torchrun's restarts.", "--resume-if-present")
    ] = False,
) -> None:
    """Train a model. Ctrl-C finishes the step, saves, and prints the command to resume.

    Example: veriscene train biatt-pointer --data nlvr --set training.epochs=10 --out runs/first
    """
    from veriscene.lab import seeds as several
    from veriscene.training.spec import SPEC, Record, Spec, fresh_folder
    from veriscene.training.train import train as train_spec

    if resume is not None:
        given = (preset, data, changes, out, teacher, initial, world)
        if any(given) or or_resume or any(option is not None for option in (seed, seeds, shard, train_share)):
            raise typer.BadParameter("--resume uses the run's own settings; give no other argument")
        record, machine = Record.read(resume), output.make_machine()
        if record.seeds:
            _report_seeds(resume, several.resume(resume, machine=machine))
        else:
            _report(train_spec(record.spec, resume, resume=True, machine=machine))
        return
    if shard is not None and (seeds is None or out is None):
        raise typer.BadParameter("--shard needs --seeds, whose parts it trains, and --out, which all shards name")
    if preset is None:
        raise typer.BadParameter("name a PRESET (see `veriscene models`) or a TOML file, or --resume RUN")
    if or_resume and out is None:
        raise typer.BadParameter("--resume-if-present needs --out")
    all_changes = output.all_changes(changes, seed)
    all_changes += [] if train_share is None else [f"data.train_share={train_share}"]
    spec = Spec.of(preset, data=data, changes=all_changes, programs=teacher or [], initial=initial, world=world)
    machine = output.make_machine()
    if shard is not None and seeds is not None and out is not None:
        _train_shard(spec, out, seeds, shard, machine)
        return
    # Rank 0 decides: another rank may look later, and find what rank 0 has begun meanwhile.
    (is_begun,) = machine.any(machine.is_main and or_resume and out is not None and (out / SPEC).exists())
    if seeds is None:
        _report(train_spec(spec, out, resume=is_begun, machine=machine))
    elif is_begun and out is not None:
        several.check_same(out, spec)
        _report_seeds(out, several.resume(out, machine=machine, count=seeds))
    else:
        folder = Path(machine.from_main(str(out or fresh_folder(preset, f"{seeds}-seeds"))))
        _report_seeds(folder, several.start(spec, folder, seeds, machine=machine))


def _report(result: Result) -> None:
    """Says how a run ended; one that was interrupted ends the command."""
    from veriscene.training.spec import resume_command

    position = result.position
    if result.interrupted:
        at = f"step {position.step} of {result.total_steps}"
        output.say(f"interrupted at {at} and saved; continue with: {resume_command(result.folder)}")
        raise typer.Exit(INTERRUPTED)
    if result.was_finished:
        output.say(f"{result.folder}: this run is finished; start a new one to train longer")
    else:
        output.say(f"best dev accuracy {position.best_accuracy:.1%} at step {position.best_step}")
    output.result(str(result.folder))


def _train_shard(spec: Spec, folder: Path, count: int, shard: str, machine: Machine) -> None:
    """Trains a shard of the seeds, and summarises all of them if none are left to other shards."""
    from veriscene.lab import seeds as several

    if not several.train_shard(spec, folder, count, output.parse_shard(shard), machine=machine):
        output.say(f"interrupted and saved; continue with the same command, --shard {shard}")
        raise typer.Exit(INTERRUPTED)
    # One process looks: another shard may finish a seed meanwhile.
    if left := int(machine.from_main(str(several.left(folder, count)))):
        output.say(f"shard {shard} is done; {counted(left, 'seed')} left to other shards")
        output.result(str(folder))
        return
    _report_seeds(folder, several.resume(folder, machine=machine, count=count, wait=True))


def _report_seeds(folder: Path, summary: Summary | None) -> None:
    from veriscene.training.spec import resume_command

    if summary is None:
        output.say(f"interrupted and saved; continue with: {resume_command(folder)}")
        raise typer.Exit(INTERRUPTED)
    output.say(f"dev accuracy {summary}")
    output.result(str(folder))


def pretrain(
    name: Annotated[str, argument("eyes, or the backbone resnet50-rendered.")],
    out: Annotated[
        Path | None, option("File to write. Default: eyes.safetensors, or the backbone's own place.")
    ] = None,
    minutes: Annotated[float, option("How long to train.", min=0.01)] = 10.0,
    steps: Annotated[int | None, option("Train for this many steps instead.", min=1)] = None,
    batch: Annotated[int | None, option("Scenes per step. Default: 384; backbone: 192.", min=1)] = None,
    seed: Annotated[int, option("Seed of weights and scenes.", min=0)] = 0,
    initial: Annotated[
        Path | None, option("Train this backbone's weights further; use another --seed.", "--init")
    ] = None,
    workers: Annotated[int | None, option("Processes that draw scenes. Default: one per core.", min=0, max=256)] = None,
    resume: Annotated[bool, option("Continue an interrupted training.", "--resume")] = False,
) -> None:
    """Train a network to see what is where, on rendered scenes without end. No corpus is needed.

    Writes the weights every minute and at the end; Ctrl-C ends the training early, and --resume continues it.

    Example: veriscene pretrain eyes --minutes 30 --out eyes.safetensors
    """
    import torch

    from veriscene.data.teacher.workers import usable_cores
    from veriscene.lab.pretrain import RENDERED_BACKBONE, Pretrainer, Settings, make_task
    from veriscene.models.vision.backbone import weights_path

    output.require_one_process("pretrain")
    torch.manual_seed(seed)
    task = make_task(name, initial)
    if out is None:
        out = weights_path(RENDERED_BACKBONE) if name == RENDERED_BACKBONE else Path("eyes.safetensors")
    if out.is_dir():
        raise InputError("is a folder", where=out, allowed="name a file")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    settings = Settings(
        seconds=60 * minutes if steps is None else float("inf"),
        steps=steps or Settings.steps,
        scenes=batch or task.scenes,
        seed=seed,
        workers=usable_cores() if workers is None else workers,
        held_out=HELD_OUT[device.type],
    )
    outcome = Pretrainer(task, out, settings, device=device, say=output.say, resume=resume).run()
    if outcome.interrupted:
        kept = f"the weights so far are in {out}; continue with --resume" if outcome.steps else "nothing was written"
        output.say(f"interrupted after step {outcome.steps}; {kept}")
        raise typer.Exit(output.INTERRUPTED)
    output.result(str(out))


@output.with_settings(ReaderTraining)
def train_reader(
    out: Annotated[Path, argument("The .safetensors file to write.")],
    world: Annotated[str, option("A world's name or its TOML file.")] = "nlvr",
    programs: Annotated[
        list[Path] | None,
        option("Statements of the world's corpus with programs, as JSON lines; may be repeated.", "--teacher"),
    ] = None,
    examples: Annotated[
        list[Path] | None, option("The same in plain English, beside those of the grammar; may be repeated.")
    ] = None,
    start_from: Annotated[
        str | None, option("Begin with the weights, and so the sizes, of this reader's file, or of a shipped model's.")
    ] = None,
    compact: Annotated[bool, option("Write matrices in eight bits: half the file.", "--compact")] = False,
    resume: Annotated[bool, option("Continue an interrupted training.", "--resume")] = False,
    **settings: Any,
) -> None:
    """Train a reader, which turns statements in plain English into programs. No corpus is needed.

    The file is written after every epoch. A checkpoint's folder that contains it as reader.safetensors uses it.

    Example: veriscene train-reader reader.safetensors --teacher programs/train.jsonl
    """
    import torch

    from veriscene import worlds
    from veriscene.judge.folders import reader_file
    from veriscene.lab import reader

    output.require_one_process("train-reader")
    if out.is_dir() or out.suffix != ".safetensors":
        raise InputError("is no name for a reader", where=out, allowed="name a .safetensors file")
    if out.exists() and not resume:
        raise InputError("already exists", where=out, allowed="name a new file, or use --resume")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    reader.train(
        worlds.get(world),
        out,
        config.read(ReaderTraining, settings, where="train-reader", prefix=""),
        programs=programs or (),
        examples=examples or (),
        start_from=None if start_from is None else reader_file(start_from),
        compact=compact,
        device=device,
        output=output.terminal(),
        resume=resume,
    )
    output.result(str(out))


def settings(
    preset: Annotated[str, argument("`veriscene models` lists presets.", metavar="PRESET|FILE.toml")] = "",
    markdown: Annotated[bool, option("Print docs/settings.md: all models' settings.", "--markdown")] = False,
) -> None:
    """Print every setting with its value, its range and its meaning.

    Example: veriscene settings biatt-pointer
    """
    from veriscene.models import load_preset
    from veriscene.models.settings import listed, reference

    if markdown or not preset:
        print(reference(), end="")
        return
    rows = listed(load_preset(preset))
    widths = [max(len(text) for text in column) for column in zip(*((row.key, row.value) for row in rows), strict=True)]
    for row in rows:
        print(f"{row.key:<{widths[0]}}  {row.value:<{widths[1]}}  {row.meaning} ({row.allowed})")


def quickstart(data: DataFolder = None, changes: Changes = None, seed: Seed = None, out: Out = None) -> None:
    """Generate a corpus, train a small BiATT-Pointer, evaluate it on unseen statements, write a report.

    Takes a few minutes on a CPU. The last line on standard output is a JSON object.

    Example: veriscene quickstart --seed 2
    """
    from veriscene.lab.quickstart import quickstart as run_quickstart
    from veriscene.training.spec import Spec

    output.require_one_process("quickstart")
    spec = Spec.of("quick", data=data, changes=output.all_changes(changes, seed))
    result = run_quickstart(spec, out, machine=output.make_machine())
    if result is None:
        raise typer.Exit(INTERRUPTED)
    print(json.dumps(result))


def report(
    run: Annotated[Path, argument("A folder written by `veriscene train`.")],
    against: Annotated[Path | None, argument("A run on the same corpus, to compare with.", metavar="OTHER")] = None,
    programs: Annotated[
        Path | None, option("JSON lines: sentence and program. Is label, program or model at fault?")
    ] = None,
    out: Annotated[
        Path | None, option("File to write. Default: report.html (two runs: comparison.html) in RUN.")
    ] = None,
) -> None:
    """Write one self-contained HTML page about a run or two: scores, learning curve, calibration, every mistake.

    A run on a real corpus is scored on dev, never on test.

    Example: veriscene report runs/biatt runs/bienc --programs programs/dev.jsonl --out comparison.html
    """
    from veriscene.report.run import report_run

    output.require_one_process("report")
    print(report_run(run, output.make_machine().accelerator, against=against, programs=programs, out=out).report)
