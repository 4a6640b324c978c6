"""What a reader understood, put together with what a network judged.

The network knows the corpus and sees the scene; the reader knows plain English, and its program counts exactly. In the
dialect of the corpus the network decides, elsewhere the reader.
"""

from __future__ import annotations

from dataclasses import replace
from math import exp, log

import numpy as np

from veriscene.data.reader import SURE_DIALECT, Reading
from veriscene.judge.question import Question, Verdict

MAX_OUTSIDE = 0.1  # probability of being about something else up to which a statement counts as understood
MIN_CERTAINTY = 0.3  # of a reading in plain English
# How sure a program's truth is, in log-odds, by the certainty of the reading; measured on free English (dev part).
_CERTAINTIES, _LOG_ODDS = (0.3, 0.6, 0.85, 0.95, 0.985), (0.5, 1.0, 1.6, 2.1, 3.7)
MAX_LOG_ODDS = 5.0  # never "100 % sure"
DISPUTED_LOG_ODDS = 1.1  # at most, where network and reader disagree: three in four such verdicts are right on dev
NETWORK_IN_PLAIN = 0.1  # the network's weight where the reader decides; chosen on dev parts, as is its 0 elsewhere


def with_reading(
    verdict: Verdict, question: Question, reading: Reading, *, is_new: bool = False, is_told: bool = True
) -> Verdict:
    """Returns the verdict that network and reader reach together, with the statement as it was understood if `is_told`:
    to say a program takes longer than to execute it.

    `is_new`: the network does not know all words, or there is none, so that the reader decides.
    """
    if question.scene is None:
        return verdict
    dialect = 0.0 if is_new else 1.0 if reading.dialect > SURE_DIALECT else reading.dialect
    is_unsure = reading.program is None or reading.certainty < MIN_CERTAINTY
    if reading.outside > MAX_OUTSIDE or (dialect < 0.5 and is_unsure):
        return replace(verdict, probability=0.5, understood=False)
    seen = _log_odds(verdict.probability)
    if reading.program is None:
        return replace(verdict, probability=_probability(seen))
    holds = reading.program.holds(question.scene)
    read = float(np.interp(reading.certainty, _CERTAINTIES, _LOG_ODDS)) * (1 if holds else -1)
    together = dialect * seen + (1 - dialect) * (read + NETWORK_IN_PLAIN * seen)
    disputed = holds != (together > 0)
    if disputed:
        together = max(-DISPUTED_LOG_ODDS, min(DISPUTED_LOG_ODDS, together))
    text = reading.text if is_told else None
    return replace(verdict, probability=_probability(together), reading=text, disputed=disputed)


def _log_odds(probability: float) -> float:
    probability = min(max(probability, 1e-6), 1 - 1e-6)
    return max(-MAX_LOG_ODDS, min(MAX_LOG_ODDS, log(probability / (1 - probability))))


def _probability(log_odds: float) -> float:
    return 1 / (1 + exp(-max(-MAX_LOG_ODDS, min(MAX_LOG_ODDS, log_odds))))
