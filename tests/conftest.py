"""The real corpus, a GPU, and settings for all tests."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from filelock import FileLock

from environment import Environment, build_wheel, install

# Small tensors gain nothing from threads, and threads that wait for one another on a busy machine cost a great deal.
os.environ.setdefault("OMP_NUM_THREADS", "1")
with suppress(ImportError):  # not needed by the tests that run on a GPU machine
    from hypothesis import settings

    settings.register_profile("steady", deadline=None, derandomize=True)
    settings.load_profile("steady")
# A shell that starts the tests in the background asks for these to be ignored; the commands under test must get them.
for number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler)
ROOT = Path(__file__).resolve().parent.parent
SHARED = "VERISCENE_TEST_FOLDER"
# Files that take longest. One that began last would run alone on one core, while the others have nothing left to do.
LONGEST = {f"test_{name}.py" for name in ("clusters", "guides", "judge", "ported", "same_bits", "torture")}


def pytest_configure(config: pytest.Config) -> None:
    """Makes a folder that all processes of a test run share; see small_models.py."""
    if SHARED not in os.environ:
        os.environ[SHARED] = tempfile.mkdtemp(prefix="veriscene-test-")
        config.add_cleanup(lambda: shutil.rmtree(os.environ.pop(SHARED), ignore_errors=True))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.path.name not in LONGEST)


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """No test reads or fills the user's own cache."""
    os.environ["VERISCENE_CACHE"] = str(tmp_path_factory.mktemp("cache"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("gpu"):
        import torch

        if not torch.cuda.is_available():
            pytest.skip("needs a CUDA device")


@pytest.fixture(scope="session")
def nlvr_folder() -> Path:
    """The real NLVR corpus, through VERISCENE_NLVR, else beside the project."""
    folder = Path(os.environ.get("VERISCENE_NLVR", ROOT.parent / "shared" / "nlvr"))
    if not (folder / "dev" / "dev.json").is_file():
        pytest.skip(f"the NLVR corpus is not at {folder}; set VERISCENE_NLVR to the folder that holds dev/dev.json")
    return folder


@pytest.fixture(scope="session")
def programs_folder(nlvr_folder: Path) -> Path:
    """The public programs, in or beside the corpus."""
    for folder in (nlvr_folder / "programs", nlvr_folder.parent / "programs"):
        if (folder / "train.jsonl").is_file():
            return folder
    pytest.skip(f"no programs in or beside {nlvr_folder}; put dev.jsonl and train.jsonl into a folder `programs` there")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package's wheel, built once for all processes that run tests."""
    folder = tmp_path_factory.getbasetemp()
    folder = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "wheel"
    with FileLock(f"{folder}.lock"):
        return next(folder.glob("*.whl"), None) or build_wheel(folder)


@pytest.fixture(scope="session")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """A new environment in which the wheel is installed with the extras for users."""
    return install(wheel, tmp_path_factory.mktemp("environment") / "new")
