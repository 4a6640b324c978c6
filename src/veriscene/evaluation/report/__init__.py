"""A run, or two of them side by side, as one self-contained HTML page."""

from __future__ import annotations

from veriscene.evaluation.report.page import ReportedRun as ReportedRun
from veriscene.evaluation.report.page import majority as majority
from veriscene.evaluation.report.page import page as page
