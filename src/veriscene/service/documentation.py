"""The routes with examples, for /openapi.json and for /docs, which loads nothing from elsewhere."""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from typing import Any

STATEMENT = "There is a box with a yellow circle."
SCENE = [
    [{"x_loc": 10, "y_loc": 20, "size": 20, "type": "circle", "color": "Yellow"}],
    [{"x_loc": 40, "y_loc": 79, "size": 20, "type": "square", "color": "#0099ff"}],
    [{"x_loc": 0, "y_loc": 0, "size": 30, "type": "triangle", "color": "Black"}],
]
QUESTION = {"statement": STATEMENT, "scene": SCENE}
_VERDICT: dict[str, Any] = {
    "probability": 0.98,
    "verdict": True,
    "per_box": None,
    "order": [[0], [0], [0]],
    "unknown_words": {},
}


@dataclass(frozen=True)
class Route:
    summary: str
    request: Any = None  # an example
    response: Any = None  # an example; None: not JSON
    query: tuple[str, tuple[str, ...]] | None = None  # a parameter and its values


ROUTES = {
    "/api/judge": Route(
        "Is the statement true of the scene? In place of `scene`, `image` takes a PNG or JPEG in base64.",
        {**QUESTION, "attention": False},
        _VERDICT,
    ),
    "/api/judge/many": Route(
        "Judge many questions. An invalid one has an object with `error` in place of its verdict.",
        {"questions": [QUESTION]},
        {"verdicts": [_VERDICT]},
    ),
    "/api/explain": Route(
        "The verdict with order and attention, and the smallest edit of the scene that flips it.",
        QUESTION,
        {"verdict": _VERDICT, "counterfactual": None, "searched": {"judgements": 812, "complete": True}},
    ),
    "/api/render": Route("A picture of the scene: png or svg.", {"scene": SCENE, "format": "svg"}, {"svg": "<svg …>"}),
    "/api/decode": Route(
        "The scene in a PNG or JPEG. Without `eyes`, the picture must be exactly one that was rendered.",
        {"image": "iVBORw0KGgo…", "eyes": True},
        {"scene": SCENE},
    ),
    "/api/scenes/random": Route(
        "A random scene with a statement about it, and whether it is true.",
        response={**QUESTION, "label": True},
        query=("kind", ("tower", "scatter")),
    ),
    "/api/scenes/example": Route("One of a few examples.", response={**QUESTION, "label": True}),
    "/api/models": Route(
        "The models that can be named as `model` in a request.",
        response={
            "models": [
                {
                    "name": "best",
                    "model": "spatial",
                    "dev_accuracy": 0.986,
                    "supervision": "programs",
                    "default": True,
                }
            ]
        },
    ),
    "/health": Route("Is the process alive?", response={"status": "ok"}),
    "/ready": Route("Are all models ready? 503 if not.", response={"ready": True}),
    "/metrics": Route("Figures for Prometheus: requests, latencies, batch sizes, queue lengths."),
}

_INVALID = {"detail": [{"field": "scene.box 2.item 1.x_loc", "message": "90 is not allowed; …"}]}
_REFUSED = {
    "413": ("The request has too many bytes.", {"detail": "a request has at most 4,194,304 bytes"}),
    "422": ("Invalid: which field, and what is allowed.", _INVALID),
    "503": ("Too much is waiting, or it took too long; see Retry-After.", {"detail": "too many questions are waiting"}),
}


def documented(path: str) -> dict[str, Any]:
    """Keyword arguments for FastAPI's route decorators."""
    route = ROUTES[path]
    extra: dict[str, Any] = {}
    answers: dict[int | str, Any] = {}
    if route.request is not None:
        schema = {"type": "object", "required": [key for key in route.request if key not in ("attention", "eyes")]}
        extra["requestBody"] = {"required": True, "content": _json(route.request, schema=schema)}
        answers |= {code: {"description": what, "content": _json(body)} for code, (what, body) in _REFUSED.items()}
    if route.query is not None:
        name, values = route.query
        extra["parameters"] = [{"name": name, "in": "query", "schema": {"type": "string", "enum": list(values)}}]
        answers["422"] = {"description": _REFUSED["422"][0], "content": _json(_INVALID)}
    content = _json(route.response) if route.response is not None else {"text/plain": {}}
    answers["200"] = {"description": "The answer.", "content": content}
    return {"summary": route.summary, "openapi_extra": extra, "responses": answers, "response_model": None}


def html(openapi: dict[str, Any]) -> str:
    """A plain page that lists the routes with an example of each."""
    parts = []
    for path, methods in openapi["paths"].items():
        route = ROUTES[path]
        parts.append(f"<h2><code>{' '.join(methods).upper()} {escape(path)}</code></h2><p>{escape(route.summary)}</p>")
        for title, example in (("Request", route.request), ("Answer", route.response)):
            if example is not None:
                text = escape(json.dumps(example, indent=1, ensure_ascii=False))
                parts.append(f"<details><summary>{title}</summary><pre>{text}</pre></details>")
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        '<title>veriscene: HTTP API</title><link rel="stylesheet" href="/static/docs.css"><main><h1>veriscene: HTTP API'
        '</h1><p>The same as <a href="/openapi.json">OpenAPI</a>. Try it on <a href="/">the page</a>.</p>'
        f"{''.join(parts)}</main></html>"
    )


def _json(example: Any, **more: Any) -> dict[str, Any]:
    return {"application/json": {"example": example, **more}}
