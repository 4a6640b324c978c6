"""The commands and the code of docs/serving.md run against a service."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from http_service import Client, running
from small_models import judge_of

DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with running(judge_of("torch", "biatt-pointer")) as client:
        yield client


def block(marker: str, language: str, client: Client) -> str:
    found = re.search(rf"<!-- {marker} -->\n```{language}\n(.*?)```", DOCUMENT, re.DOTALL)
    assert found
    return found[1].replace("127.0.0.1:8000", f"127.0.0.1:{client.port}")


@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_curl_examples_run(client: Client, tmp_path: Path) -> None:
    for command in block("commands that the tests run", "sh", client).splitlines():
        done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
        answer = json.loads(done.stdout or (tmp_path / "question.json").read_text())
        assert "detail" not in answer


def test_python_example_runs(client: Client) -> None:
    code = block("Python that the tests run", "python", client)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    probability, is_same = done.stdout.split()
    assert 0 < float(probability) < 1 and is_same == "True"
