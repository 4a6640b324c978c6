"""The README and the guides: their blocks of code, and how they are run."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from environment import Environment
from guide_exceptions import ADDED, LEFT_OUT

ROOT = Path(__file__).resolve().parent.parent
GUIDES = {
    path.name: path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}
ADDRESS = "http://127.0.0.1:8000"
Printed = dict[str, str]  # by command, or by code


@dataclass(frozen=True)
class Block:
    language: str
    code: str

    @property
    def commands(self) -> list[str]:
        """The lines of a block of shell commands, without comments."""
        lines = (re.sub(r"(^|\s+)# .*", "", line) for line in self.code.splitlines())
        return [line for line in lines if line]


def blocks(text: str) -> list[Block]:
    """The blocks that can be run, in their order; adjacent Python blocks share their variables and become one."""
    found: list[Block] = []
    for language, code in re.findall(r"^```(python|sh)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        if language == "python" and code.splitlines()[0] in LEFT_OUT:
            continue
        if language == "python" and found and found[-1].language == "python":
            found[-1] = Block(language, f"{found[-1].code}\n{code}")
        else:
            found.append(Block(language, code))
    return found


def mentioned(text: str) -> list[str]:
    """The commands that the text mentions in passing."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    spans = (" ".join(span.split()) for span in re.findall(r"`([^`]+)`", prose))
    spans = (re.sub(r"^veriscene --plugin \w+", "veriscene", span) for span in spans)  # comes before the command
    return [span for span in spans if span.startswith("veriscene ")]


def hidden(text: str) -> list[str]:
    """Lines that look like commands, in blocks of which nobody can tell whether they can be run."""
    rest = re.sub(r"^```(python|sh)\n.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    code = re.findall(r"^```.*?^```", rest, re.DOTALL | re.MULTILINE) + re.findall(
        r"^(?: {4}|\t).*", rest, re.MULTILINE
    )
    start = re.compile(r"\s*(?:\$ |>>> |(?:veriscene|python|pip|make|git|docker|npm|curl|pytest) )")
    return [line for part in code for line in part.splitlines() if start.match(line)]


def run(command: list[str], folder: Path, variables: dict[str, str]) -> str:
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f"{command[-1]}\n{done.stdout[-3000:]}\n{done.stderr}"
    return done.stdout


@contextmanager
def serving(command: str, folder: Path, environment: Environment) -> Iterator[str]:
    """The address of the service that the command starts."""
    arguments = [str(environment.folder / "bin" / "veriscene"), *command.split()[1:], "--port", "0"]
    with subprocess.Popen(
        arguments, cwd=folder, env=environment.variables, stdout=subprocess.PIPE, text=True
    ) as service:
        assert service.stdout
        try:
            yield service.stdout.readline().split()[-1]
        finally:
            service.send_signal(signal.SIGINT)
        assert service.wait(60) == 0


def follow(guide: str, folder: Path, environment: Environment, variables: dict[str, str]) -> Printed:
    """Runs the guide's blocks in their order, in a folder; returns what they printed."""
    printed, address = Printed(), ADDRESS
    with ExitStack() as services:
        for block in blocks(GUIDES[guide]):
            if block.language == "python":
                code = block.code.replace(ADDRESS, address)
                printed[block.code] = run(["python", "-c", code], folder, variables)
                continue
            for command in block.commands:
                if command in LEFT_OUT:
                    continue
                if command.startswith("veriscene serve "):
                    address = services.enter_context(serving(command, folder, environment))
                    continue
                if command.startswith("curl ") and shutil.which("curl") is None:
                    pytest.skip("needs curl")
                line = f"{command} {ADDED.get(command, '')}".replace("…", "*").replace(ADDRESS, address)
                printed[command] = run(["bash", "-o", "pipefail", "-c", line], folder, variables)
                quiet = ">" in command or "--dry-run" in command
                assert printed[command] or quiet, f"{command} printed nothing"
    return printed
