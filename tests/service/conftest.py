"""The world that the service tells the page about."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from http_service import tree_of


@pytest.fixture(autouse=True, scope="session")
def world() -> Iterator[None]:
    """Judges do not have a world yet."""
    from veriscene.service import scenes

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scenes, "world_tree", lambda judge: tree_of("nlvr"))
        yield
