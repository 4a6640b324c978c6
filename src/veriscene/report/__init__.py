"""A run, or two of them side by side, as one self-contained HTML page."""

from __future__ import annotations

from veriscene.report.page import ReportedRun as ReportedRun
from veriscene.report.page import majority as majority
from veriscene.report.page import page as page
