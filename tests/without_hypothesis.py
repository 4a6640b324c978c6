"""A pytest plugin: where hypothesis is not installed, files that use it can be imported, and its tests are skipped."""

from __future__ import annotations

import importlib.util
import sys
from unittest.mock import MagicMock

import pytest

if importlib.util.find_spec("hypothesis") is None:
    sys.modules["hypothesis"] = MagicMock(given=lambda *args, **named: pytest.mark.skip(reason="needs hypothesis"))
