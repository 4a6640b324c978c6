"""Settings of all tests, and where the real corpus is."""

from __future__ import annotations

import os
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from unittest.mock import MagicMock

import pytest

try:
    from hypothesis import settings
except ImportError:  # on a machine where nothing can be installed; its tests are skipped there
    skipped, spec = pytest.mark.skip(reason="needs hypothesis"), ModuleSpec("hypothesis", None)
    sys.modules["hypothesis"] = MagicMock(__spec__=spec, given=lambda *args, **named: skipped)
    from hypothesis import settings

# Small tensors gain nothing from threads, and threads that wait for one another on a busy machine cost a great deal.
os.environ.setdefault("OMP_NUM_THREADS", "1")
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")
ROOT = Path(__file__).resolve().parent.parent


def pytest_runtest_setup(item: pytest.Item) -> None:
    import torch  # not before OMP_NUM_THREADS is set

    if item.get_closest_marker("gpu") and not torch.cuda.is_available():
        pytest.skip("needs a GPU")


@pytest.fixture(scope="session")
def nlvr_folder() -> Path:
    """The real NLVR corpus, through VERISCENE_NLVR, else beside the project."""
    folder = Path(os.environ.get("VERISCENE_NLVR", ROOT.parent / "shared" / "nlvr"))
    if not (folder / "dev" / "dev.json").is_file():
        pytest.skip(f"the NLVR corpus is not at {folder}; set VERISCENE_NLVR to the folder that holds dev/dev.json")
    return folder
