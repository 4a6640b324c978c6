"""A new virtual environment with veriscene installed from its wheel, as a user has it.

Its dependencies are links to this environment's packages, exactly those that the wheel asks for. So nothing is
downloaded, and neither the repository nor tools for development can be imported.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
FOR_DEVELOPERS = {"dev", "docs"}  # extras
_PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")


@dataclass(frozen=True)
class Environment:
    folder: Path

    @property
    def python(self) -> str:
        return str(self.folder / "bin" / "python")

    @property
    def packages(self) -> Path:
        return Path(sysconfig.get_path("purelib", vars={"base": str(self.folder)}))

    @property
    def veriscene(self) -> Distribution:
        (installed,) = Distribution.discover(name="veriscene", path=[str(self.packages)])
        return installed

    @property
    def variables(self) -> dict[str, str]:
        """Of processes in this environment: its commands come first, and no path leads to other packages."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
        return kept | {"PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"}

    @contextmanager
    def preloaded(self, folder: Path) -> Iterator[dict[str, str]]:
        """The variables of processes whose `veriscene` and `python` start at once: see preloaded.py."""
        folder.mkdir()
        command, pipe = [self.python, "-I", str(ROOT / "tests" / "preloaded.py"), str(folder)], subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, env=self.variables, cwd=folder) as server:
            assert server.stdout and server.stdout.readline() == b"ready\n"
            path = f"{folder}{os.pathsep}{self.variables['PATH']}"
            yield self.variables | {"PATH": path, "VERISCENE_CACHE": str(folder / "cache")}


def build_wheel(folder: Path) -> Path:
    command = (*_PIP, "wheel", str(ROOT), "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder))
    subprocess.run(command, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(wheel: Path, folder: Path, *, extras: Collection[str] | None = None) -> Environment:
    """A new environment with the wheel, and what veriscene needs with these extras, by default all for users."""
    subprocess.run((sys.executable, "-m", "venv", "--without-pip", str(folder)), check=True)
    environment = Environment(folder)
    command = (*_PIP, "--python", environment.python, "install", "--no-deps", "--no-index", str(wheel))
    subprocess.run(command, check=True)
    if extras is None:
        extras = set(environment.veriscene.metadata.get_all("Provides-Extra") or []) - FOR_DEVELOPERS
    for package in _needed(environment.veriscene, extras, {}).values():
        for name in {path.parts[0] for path in package.files or [] if ".." not in path.parts}:
            link = environment.packages / name
            if not (link.is_symlink() or name.endswith(".pth") or name == "__pycache__"):
                link.symlink_to(package.locate_file(name))
    return environment


def _needed(package: Distribution, extras: Iterable[str], found: dict[str, Distribution]) -> dict[str, Distribution]:
    """The packages that a package with these extras requires, directly or not, as far as they are installed here."""
    for line in package.requires or []:
        requirement = Requirement(line)
        if requirement.marker and not any(requirement.marker.evaluate({"extra": extra}) for extra in {"", *extras}):
            continue
        if requirement.name not in found or requirement.extras:
            try:
                found[requirement.name] = distribution(requirement.name)
            except PackageNotFoundError:
                continue
            _needed(found[requirement.name], requirement.extras, found)
    return found
