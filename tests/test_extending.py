"""The model of docs/extending.md is added to the package, trained, used and tested as the guide says."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from environment import install
from guides import GUIDES, ROOT, blocks, follow, run


def test_the_guides_model_is_added_and_works(wheel: Path, tmp_path: Path) -> None:
    text = GUIDES["extending.md"]
    model, line, preset = (
        re.findall(rf"^## {number}\..*?^```\w+\n(.*?)^```", text, re.DOTALL | re.MULTILINE)[0] for number in (1, 2, 3)
    )
    environment, work = install(wheel, tmp_path / "environment"), tmp_path / "work"
    package = environment.packages / "veriscene"
    (package / "models" / "deep_sets.py").write_text(model)
    (package / "presets" / "deep-sets.toml").write_text(preset)
    models, opening = package / "models" / "__init__.py", "MODELS: dict[str, type[Model]] = {\n"
    assert opening in line and opening in models.read_text()
    models.write_text(models.read_text().replace(opening, line.replace("    ...\n", "").removesuffix("}\n")))
    work.mkdir()
    with environment.preloaded(tmp_path / "bin") as variables:
        printed = follow("extending.md", work, environment, variables)
    assert re.search(r"deep-sets +deep-sets +Deep sets: sums", printed["veriscene models"])
    assert (work / "deep-sets.onnx").is_file()
    _, *arguments = next(c for block in blocks(text) for c in block.commands if c.startswith("pytest ")).split()
    test = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    test += ["-k", "deep-sets and not onnx"]  # `veriscene export` has just compared both
    assert " passed" in run(test, ROOT, {**os.environ, "PYTHONPATH": str(environment.packages)})
