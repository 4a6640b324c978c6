"""The wheel is complete, asks for all packages that it imports, and works without those of the extras but `train`."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from environment import FOR_DEVELOPERS, ROOT, Environment, install
from guide_exceptions import SMALL
from guides import GUIDES
from samples import write_corpus, yellow_circle_examples


def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    source = ROOT / "src"
    files = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    packed = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert packed == {name for name in files if "__pycache__" not in name}
    assert packed >= {
        *("veriscene/py.typed", "veriscene/presets/quick.toml", "veriscene/service/page/index.html"),
        *("veriscene/checkpoints/eyes.safetensors", "veriscene/checkpoints/biatt-pointer/model.safetensors"),
    }


def test_the_environment_has_the_wheel_and_nothing_of_the_repository(environment: Environment, tmp_path: Path) -> None:
    code = "import sys, veriscene; print(veriscene.__file__, *sys.path, sep='\\n')"
    command = ["bash", "-c", 'python -c "$0" && veriscene --version', code]
    done = subprocess.run(command, cwd=tmp_path, env=environment.variables, capture_output=True, text=True, check=True)
    module, _, *paths, version = done.stdout.splitlines()
    assert (
        Path(module) == environment.packages / "veriscene" / "__init__.py" and version == environment.veriscene.version
    )
    assert not any(Path(path).is_relative_to(ROOT) or Path(path).is_relative_to(sys.prefix) for path in paths)
    assert not (environment.packages / "pytest").exists()


def test_dependencies_and_extras_name_every_package_that_is_imported(environment: Environment) -> None:
    modules: set[str] = set()
    for path in (environment.packages / "veriscene").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules.add(node.module.partition(".")[0])
    with_torch = {"triton"}  # torch for CUDA brings it along; without it, torch's own kernels are used
    imported = modules - sys.stdlib_module_names - {"veriscene", environment.veriscene.name} - with_torch
    package_of = packages_distributions()
    packages = {canonicalize_name(package_of[module][0]) for module in imported}
    declared = [Requirement(line) for line in environment.veriscene.requires or []]
    for_users = {
        canonicalize_name(each.name)
        for each in declared
        if not any(f'"{extra}"' in str(each.marker) for extra in FOR_DEVELOPERS)
    }
    assert {"torch", "pillow", "scikit-learn"} <= packages <= for_users


@pytest.fixture(scope="module")
def base(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return install(wheel, tmp_path_factory.mktemp("base") / "new", extras={"train"})


def test_extras_that_the_guides_name_exist(environment: Environment) -> None:
    named = {extra for text in GUIDES.values() for extra in re.findall(r"veriscene\[(\w+)\]", text)}
    assert named and named <= set(environment.veriscene.metadata.get_all("Provides-Extra") or [])


def test_with_torch_alone_models_are_trained_and_judge_and_other_commands_say_what_they_need(
    base: Environment, tmp_path: Path
) -> None:
    examples = yellow_circle_examples(8)
    write_corpus(tmp_path / "corpus", examples, examples)
    statement = '--statement "There is a circle."'
    train, dev = f"veriscene train quick --data corpus --out run {SMALL}", "corpus/dev/dev.json"
    with base.preloaded(tmp_path / "bin") as variables:

        def run(command: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                ["bash", "-c", command], cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=120
            )

        for command in (
            *("veriscene models", train, f"veriscene evaluate run {dev}", "veriscene report run"),
            *(f"head -n 1 {dev} > scene.json", "veriscene data render scene.json scene.png"),
            *(f"veriscene predict best-pixels {statement} --image scene.png", "veriscene data export corpus c.jsonl"),
        ):
            assert run(command).returncode == 0, f"{command}\n{run(command).stderr}"
        for command, advice in {
            "veriscene export run model.onnx": "pip install 'veriscene[onnx]'",
            f"veriscene figures errors run {dev} --out figures": "pip install 'veriscene[plot]'",
            "veriscene train maxent --data corpus": "pip install 'veriscene[maxent]'",
            "veriscene serve best --port 0": "pip install 'veriscene[serve]'",
            "veriscene tune quick --data corpus": "pip install 'veriscene[tune]'",
            "veriscene data export corpus c.parquet": "pip install 'veriscene[export]'",
            "veriscene bench serve": "needs the repository; clone it",
        }.items():
            refused = run(command)
            assert refused.returncode == 1 and refused.stderr.count("\n") == 1, refused.stderr
            assert advice in refused.stderr
