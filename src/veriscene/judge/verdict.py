"""What a judge answers; `Verdict.to_json` is the wire format."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Attention:
    """Rows sum to one. Items stand in the order of the scene, boxes outermost. None: the model has no such map."""

    words: list[str]
    words_to_items: list[list[list[float]]] | None  # [box][word][item]: alpha of equation 4
    items_to_words: list[list[list[float]]] | None  # [box][item][word]: beta of equation 7


@dataclass(frozen=True)
class Verdict:
    probability: float  # that the statement is true of the scene
    per_box: list[float] | None  # box scores as probabilities; None unless the verdict is the max or mean of box scores
    order: list[list[int]] | None  # per box, the items' indices as the model read them; None if order does not matter
    attention: Attention | None  # None for models without attention
    unknown_words: dict[str, list[str]]  # words that the model does not know, each with the nearest that it knows
    order_is_chosen: bool = False  # by a pointer network; else the items were read as they came

    @property
    def verdict(self) -> bool:
        return self.probability > 0.5

    def to_json(self, *, attention: bool = False) -> dict[str, Any]:
        record: dict[str, Any] = {
            "probability": self.probability,
            "verdict": self.verdict,
            "per_box": self.per_box,
            "order": self.order,
            "unknown_words": self.unknown_words,
        }
        if attention and self.attention is not None:
            record["attention"] = asdict(self.attention)
        return record
