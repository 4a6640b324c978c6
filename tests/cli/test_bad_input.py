"""Invalid input is one clear line and exit status 1, wrong usage is 2, and no file is harmed."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from shell import VERISCENE, shell, veriscene

# The line must name what is wrong: the file, the option or the value.
BAD_INPUT = {
    "evaluate model none.json": "none.json",
    "evaluate model broken.json": "broken.json:11",
    "evaluate nothing corpus/dev/dev.json": "nothing",
    "evaluate none.onnx corpus/dev/dev.json": "none.onnx",
    "evaluate scene.onnx corpus/dev/dev.json": "scene.onnx",
    "evaluate model unlabelled.json": "unlabelled.json",
    "evaluate model half/train/train.json": "half/train/train.json:2",
    "evaluate model corpus/dev/dev.json --predictions corpus/dev/dev.json": "corpus/dev/dev.json",
    "score corpus/dev/dev.json short.csv": "short.csv",
    "score corpus/dev/dev.json long.csv": "99-0",
    "predict model --statement x --scene corpus/dev/dev.json": "dev.json",
    "predict model --statement x --scene shifted.png": "--image",
    "predict model": "standard input: ",
    "evaluate model long.json": "long.json:2: sentence: ",
    "data stats long.json": "long.json:2: sentence: ",
    "train biatt --data long": "long/train/train.json:2: sentence: ",
    "report model": "model",
    "train enormous": "enormous",
    "train biatt-ponter": "biatt-pointer?",
    "train biatt --data model": "model",
    "train biatt --data half": "half/train/train.json:2",
    "train --resume model": "model",
    "train bienc --data corpus --out corpus": "corpus",
    "train biatt --set model.layers=3": "model.layers",
    "train biatt --set training.batch=many": "training.batch",
    "train biatt --set model.dropout=1.5": "model.dropout",
    "train biatt --seed 99999999999999999999": "training.seed",
    "train biatt --set training.policy_weight=1": "training.policy_weight",
    "train mlp --data corpus --set data.order=file": "data.order",
    "train bienc --seeds 3000000": "3000000",
    "train bienc --seeds 0": "0",
    "reproduce table2 --data corpus": "table2",
    "reproduce table1 --data corpus --row CNN": "CNN",
    "reproduce table1 --data corpus --set training.batch=0": "training.batch",
    "reproduce paper --data corpus --row CNN": "CNN",
    "reproduce paper --data corpus --out short.csv --row BiENC": "short.csv: ",
    "reproduce paper --data model --row BiENC": "model",
    "tune biatt --data corpus --space training.batch=9:1": "training.batch",
    "data synth short.csv/sub --statements 20": "short.csv/sub",
    "data synth corpus --statements 20": "corpus",
    "data synth out --level hard": "hard",
    "data stats model": "model",
    "data backbone none.tgz": "none.tgz",
    "data backbone short.csv": "short.csv",
    "data render corpus/dev/dev.json corpus": "corpus: ",
    "data render corpus/dev/dev.json one.png": "corpus/dev/dev.json: ",
    "data render corpus/dev/dev.json good.csv/images": "good.csv/images",
    "data render scene.json shifted.png": "shifted.png: ",
    "data render corpus/dev/dev.json one.bmp": "one.bmp: ",
    "data render corpus/dev/dev.json out --permutations 7": "7",
    "data decode shifted.png": "shifted.png: ",
    "data decode scene.json": "scene.json: ",
    "data decode none.png": "none.png",
    "data decode bomb.png": "11000 x 11000",
    "data decode model": "model: ",
    "data decode shifted.png --out good.csv": "good.csv: ",
    "evaluate model corpus/dev/dev.json --images corpus": "corpus: ",
    "evaluate model corpus/dev/dev.json --images nowhere": "nowhere: ",
    "predict model --statement circle --image shifted.png": "--eyes",
    "judge model none.jsonl out": "none.jsonl",
    "judge model nofile out": "nofile: ",
    "judge model corpus/dev/dev.json out --device cuda:99": "device 'cuda:99': ",
    "judge shapeworld corpus/dev/dev.json out --device cuda:99": "device 'cuda:99': ",
    "judge nothing corpus/dev/dev.json out": "nothing",
    "judge model good.csv out": "good.csv: ",
    "judge model corpus/dev/dev.json corpus": "corpus: ",
    "judge model corpus/dev/dev.json corpus/dev": "corpus/dev: ",
    "judge model corpus/dev/dev.json out --shard 2/2": "--shard 2/2",
    "predict model --statement circle --image scene.json": "scene.json: ",
    "export shapeworld out.onnx": "shapeworld: ",
    "export none.safetensors out.onnx": "none.safetensors: ",
    "explain nothing --statement circle --scene scene.json": "nothing",
    "explain model --statement circle --scene none.json": "none.json",
    "explain model --statement circle --scene corpus/dev/dev.json": "dev.json",
    "explain model --statement circle --scene shifted.png": "--image",
    "explain model --statement ! --scene scene.json": "statement",
    "explain model --statement circle --image shifted.png": "--eyes",
    "explain model --statement circle --image scene.json": "scene.json: ",
    "explain model --statement circle --scene scene.json --svg good.csv": "good.csv: ",
    "figures order pairs corpus/dev/dev.json --out out": "pairs: ",
    "figures order best-pixels corpus/dev/dev.json --out out": "best-pixels: ",
    "figures attention pairs corpus/dev/dev.json --out out": "pairs: ",
    "figures order nothing corpus/dev/dev.json --out out": "nothing",
    "figures order model none.json --out out": "none.json",
    "figures errors model unlabelled.json --out out": "unlabelled.json:1: '0-0'",
    "figures errors model corpus/dev/dev.json --identifiers 77-0 --out out": "'77-0'",
    "figures order model corpus/dev/dev.json --identifiers , --out out": "--identifiers: ",
    "figures contrast model corpus/dev/dev.json --baseline model --out out": "dev.json: ",
    "figures contrast model corpus/dev/dev.json --baseline model --identifiers 0-0 --out out": "'0-0'",
    "figures order model corpus/dev/dev.json --count 1 --out good.csv": "good.csv",
    "figures order model corpus/dev/dev.json --font Nothing --out out": "'Nothing'",
}


@pytest.mark.parametrize("command", BAD_INPUT)
def test_invalid_input_is_one_clear_line(command: str, place: Path) -> None:
    if command.startswith("figures"):
        pytest.importorskip("matplotlib", reason="figures need matplotlib: pip install -e '.[dev]'")
    (place / "scene.onnx").write_text("no graph")

    def contents() -> dict[Path, bytes]:
        return {path: path.read_bytes() if path.is_file() else b"" for path in place.rglob("*")}

    before = contents()
    done = veriscene(*command.split(), cwd=place)
    assert done.returncode == 1 and done.stdout == "", done.stderr
    lines = [line for line in done.stderr.splitlines() if not line.startswith("expected time: ")]
    assert len(lines) == 1 and lines[0].startswith("veriscene: ") and BAD_INPUT[command] in lines[0], done.stderr
    assert contents() == before


@pytest.mark.parametrize(
    "command",
    [
        "train",
        "predict model --statement x",
        "predict model --image x.png",
        "data render x y --format gif",
        "train biatt --resume model",
        "evaluate model",
        "fly",
        "reproduce table1 --data corpus --dry-run --json",
        "explain model --statement circle",
        "explain model --scene scene.json",
        "explain model --statement circle --scene scene.json --image shifted.png",
        "explain model --statement circle --scene scene.json --edits 0",
        "explain model --statement circle --scene scene.json --judgements 0",
    ],
)
def test_wrong_usage_is_status_two(command: str, place: Path) -> None:
    done = veriscene(*command.split(), cwd=place)
    assert done.returncode == 2 and done.stdout == "" and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("library", "extra", "command"),
    [
        ("sklearn", "maxent", "train maxent --data half"),
        ("matplotlib", "plot", "figures order nothing none.json --out out"),
        ("optuna", "tune", "tune biatt --data half"),
        ("uvicorn", "serve", "serve nothing"),
    ],
)
def test_a_missing_library_is_reported_before_anything_is_read(
    library: str, extra: str, command: str, place: Path
) -> None:
    script = f"import sys; sys.modules[{library!r}] = None; from veriscene.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script, *command.split()], capture_output=True, text=True, cwd=place, timeout=120
    )
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    assert f"veriscene[{extra}]" in done.stderr


def test_an_endless_line_on_standard_input_takes_little_memory(place: Path) -> None:
    limit = 4 << 30  # of address space; importing torch alone takes half of it
    done = subprocess.run(
        ["bash", "-c", 'head -c 3000000000 /dev/zero | "$@"', "bash", *VERISCENE, "predict", "model"],
        capture_output=True,
        text=True,
        cwd=place,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert done.returncode == 1 and list(json.loads(done.stdout)) == ["error"]
    assert done.stderr.startswith("veriscene: standard input, line 1: ") and done.stderr.count("\n") == 2


def test_a_statement_of_200_000_words_is_refused(place: Path) -> None:
    question = {"statement": "a " * 200_000, "scene": json.loads((place / "scene.json").read_text())}
    done = veriscene("predict", "model", cwd=place, stdin=json.dumps(question))
    assert done.returncode == 1 and list(json.loads(done.stdout)) == ["error"]
    assert done.stderr.startswith("veriscene: standard input, line 1: ") and len(done.stderr) < 300


def test_a_closed_standard_input_is_one_clear_line(place: Path) -> None:
    done = shell("veriscene predict model <&-", cwd=place)
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("veriscene: standard input: ") and done.stderr.count("\n") == 1


def test_under_torchrun_the_main_process_prints_the_line_and_the_report_quotes_it(place: Path) -> None:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [*launcher, "-m", "veriscene", "train", "enormous"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=place, timeout=120)
    lines = [line for line in done.stderr.splitlines() if line.startswith("veriscene: ")]
    assert done.returncode == 1 and len(lines) == 1 and "enormous" in lines[0]
    assert done.stderr.count("Traceback") == 1  # torchrun's own
    assert f"traceback : {lines[0].removeprefix('veriscene: ')}" in done.stderr
