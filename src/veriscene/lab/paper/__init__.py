"""The whole paper in one command: its tables, ablations and figures next to ours, as one page.

published.py: what the paper shows; figures.py: the figures from our models; page.py (inline.py): the page; work.py: all
of it, in a folder.
"""

from __future__ import annotations

from veriscene.lab.paper.work import Paper as Paper
