"""Where the real corpus is, for the tests that need it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Small tensors gain nothing from threads, and threads that wait for one another on a busy machine cost a great deal.
os.environ.setdefault("OMP_NUM_THREADS", "1")
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")
ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def nlvr_folder() -> Path:
    """The real NLVR corpus, through VERISCENE_NLVR, else beside the project."""
    folder = Path(os.environ.get("VERISCENE_NLVR", ROOT.parent / "shared" / "nlvr"))
    if not (folder / "dev" / "dev.json").is_file():
        pytest.skip(f"the NLVR corpus is not at {folder}; set VERISCENE_NLVR to the folder that holds dev/dev.json")
    return folder
