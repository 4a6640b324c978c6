"""`pip install WHEEL` in a new environment, from the package index: judging and serving without torch."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from environment import ROOT, Environment
from samples import yellow_circle_examples
from veriscene.worlds.nlvr.looks import WORLD

MAX_MEGABYTES = 320  # of site-packages, pip included
MAX_SECONDS = 6.0  # of a command that judges once; two on an idle machine


def pip_install(environment: Environment, *what: str) -> None:
    command = (environment.python, "-m", "pip", "install", "--quiet", "--constraint", str(ROOT / "constraints.txt"))
    done = subprocess.run((*command, *what), env=environment.variables, capture_output=True, text=True)
    if done.returncode and "CI" not in os.environ:
        pytest.skip(f"packages cannot be installed here: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def light(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    environment = Environment(tmp_path_factory.mktemp("light") / "new")
    subprocess.run((sys.executable, "-m", "venv", str(environment.folder)), check=True)
    pip_install(environment, str(wheel))
    return environment


def test_without_torch_the_wheel_is_small_judges_explains_and_serves(
    light: Environment, wheel: Path, tmp_path: Path
) -> None:
    assert not (light.packages / "torch").exists() and not (light.packages / "accelerate").exists()
    size = sum(path.lstat().st_size for path in light.packages.rglob("*") if path.is_file()) / 1e6
    assert size <= MAX_MEGABYTES
    scene = WORLD.to_json_scene(yellow_circle_examples(1)[0].scene)
    (tmp_path / "scene.json").write_text(json.dumps(scene), encoding="utf-8")
    program, question = str(light.folder / "bin" / "veriscene"), ("--statement", "There is a circle.")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = (program, *arguments)
        return subprocess.run(command, cwd=tmp_path, env=light.variables, capture_output=True, text=True, timeout=120)

    asked, seconds = (*question, "--scene", "scene.json"), []
    for _ in range(3):  # the first one compiles the modules
        started = time.perf_counter()
        done = run("predict", "best", *asked, "--json")
        seconds.append(time.perf_counter() - started)
        assert done.returncode == 0 and json.loads(done.stdout)["understood"], done.stderr
    assert min(seconds) < MAX_SECONDS
    print(f"site-packages: {size:.0f} MB; predict: {seconds[0]:.1f} s, then {min(seconds):.1f} s")
    for arguments in (("explain", "best", *asked, "--judgements", "20"), ("checks",)):
        done = run(*arguments)
        assert done.returncode == 0, done.stderr
    for arguments, extra in ((("train", "quick"), "train"), (("serve", "best"), "serve")):
        done = run(*arguments)
        assert done.returncode == 1 and done.stderr.count("\n") == 1 and f"veriscene[{extra}]" in done.stderr

    pip_install(light, f"{wheel}[serve]")
    assert not (light.packages / "torch").exists()
    command = (program, "serve", "best", "--port", "0")
    with subprocess.Popen(command, cwd=tmp_path, env=light.variables, stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout
        try:
            address = service.stdout.readline().split()[-1]
            body = json.dumps({"statement": "There is a circle.", "scene": scene}).encode()
            with urlopen(Request(f"{address}/api/judge", body, {"Content-Type": "application/json"})) as answer:
                assert json.load(answer)["understood"]
        finally:
            service.send_signal(signal.SIGINT)
        assert service.wait(60) == 0
