"""The routes with examples, for /openapi.json and for /docs, which loads nothing from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from starlette.responses import PlainTextResponse


@dataclass(frozen=True)
class Route:
    """Documents a route by a sentence and examples. One without a request is answered to GET."""

    summary: str
    request: Any = None  # an example
    response: Any = None  # an example; None: not JSON
    query: Mapping[str, Sequence[str]] = field(default_factory=dict)  # parameters with their values; none: any text


def routes(question: Mapping[str, Any]) -> dict[str, Route]:
    """Returns the routes by path; `question` is an example with statement and scene."""
    scene = question["scene"]
    verdict: dict[str, Any] = {
        "probability": 0.98,
        "verdict": True,
        "understood": True,
        "reading": "at least two items",
        "disputed": False,
        "per_box": None,
        "order": [list(range(len(box))) for box in scene],
        "unknown_words": {},
    }
    question = {"statement": question["statement"], "scene": scene}
    model = {"name": "best", "model": "spatial", "dev_accuracy": 0.986, "supervision": "programs", "default": True}
    return {
        "/api/judge": Route(
            "Is the statement true of the scene? In place of `scene`, `image` takes a PNG or JPEG in base64.",
            {**question, "attention": False},
            verdict,
        ),
        "/api/judge/many": Route(
            "Judge many questions. In the place of one that cannot be judged is an object with `error`.",
            {"questions": [question]},
            {"verdicts": [verdict]},
        ),
        "/api/explain": Route(
            "The verdict with order and attention, and the smallest edit of the scene that flips it.",
            question,
            {
                "verdict": verdict,
                "counterfactual": None,
                "searched": {"judgements": 812, "complete": True},
                "scene": scene,
            },
        ),
        "/api/render": Route(
            "A picture of the scene: png or svg.", {"scene": scene, "format": "svg"}, {"svg": "<svg …>"}
        ),
        "/api/decode": Route(
            "The scene in a PNG or JPEG. Without `eyes`, the picture must be exactly one that was rendered.",
            {"image": "iVBORw0KGgo…", "eyes": True},
            {"scene": scene},
        ),
        "/api/world": Route(
            "What scenes of a model's world can contain, as the tables of a world file, and its abilities.",
            response={"name": "…", "boxes": [1, 3], "attributes": {}, "abilities": {"pictures": True}},
            query={"model": ()},
        ),
        "/api/scenes/random": Route(
            "A random scene with a statement about it, and whether it is true.",
            response={**question, "label": True},
            query={"model": (), "kind": ("tower", "scatter")},
        ),
        "/api/scenes/example": Route(
            "One of a few examples.", response={**question, "label": True}, query={"model": ()}
        ),
        "/api/models": Route(
            "The models that can be named as `model` in a request.", response={"models": [{**model, "world": "…"}]}
        ),
        "/health": Route("Is the process alive?", response={"status": "ok"}),
        "/ready": Route("Are all models ready? 503 if not.", response={"ready": True}),
        "/metrics": Route("Figures for Prometheus: requests, latencies, batch sizes, queue lengths."),
    }


_INVALID = {"detail": [{"field": "scene.box 2.item 1", "message": "90 is not allowed; …"}]}
_REFUSED = {
    "408": ("The request did not arrive in time.", {"detail": "the request did not arrive within 10 seconds"}),
    "413": ("The request has too many bytes.", {"detail": "a request has at most 4,194,304 bytes"}),
    "415": ("The request is not JSON.", {"detail": "send JSON, with the header Content-Type: application/json"}),
    "422": ("Invalid: which field, and what is allowed.", _INVALID),
    "503": ("Too much is waiting, or the request timed out.", {"detail": "too many questions are waiting"}),
}


def documented(route: Route) -> dict[str, Any]:
    """Returns keyword arguments for FastAPI's route decorators."""
    extra: dict[str, Any] = {}
    answers: dict[int | str, Any] = {}
    if route.request is not None:
        either = {"scene", "image"} if "statement" in route.request else set()
        required = [key for key in route.request if key not in {"attention", "eyes", "format", *either}]
        schema = {**_schema(route.request), "required": required}
        if either:
            schema["properties"]["image"] = {"type": "string"}
            schema["anyOf"] = [{"required": [key]} for key in sorted(either)]
        extra["requestBody"] = {"required": True, "content": _json(route.request, schema=schema)}
        answers |= {code: {"description": what, "content": _json(body)} for code, (what, body) in _REFUSED.items()}
    if route.query:
        extra["parameters"] = [
            {"name": name, "in": "query", "schema": {"type": "string", **({"enum": list(values)} if values else {})}}
            for name, values in route.query.items()
        ]
        answers["422"] = {"description": _REFUSED["422"][0], "content": _json(_INVALID)}
    content = _json(route.response) if route.response is not None else {"text/plain": {}}
    answers["200"] = {"description": "The answer.", "content": content}
    said = {"summary": route.summary, "openapi_extra": extra, "responses": answers, "response_model": None}
    return {**said, "response_class": PlainTextResponse} if route.response is None else said


def html(routes: Mapping[str, Route]) -> str:
    """Returns a plain page that lists the routes with an example of each."""
    parts = []
    for path, route in routes.items():
        method = "GET" if route.request is None else "POST"
        parts.append(f"<h2><code>{method} {escape(path)}</code></h2><p>{escape(route.summary)}</p>")
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
    return {"application/json": {"example": example, "schema": _schema(example), **more}}


def _schema(example: Any) -> dict[str, Any]:
    """Returns the schema of values such as the example; None stands for anything."""
    if isinstance(example, Mapping):
        return {"type": "object", "properties": {key: _schema(value) for key, value in example.items()}}
    if isinstance(example, list):
        return {"type": "array", "items": _schema(example[0]) if example else {}}
    names = {bool: "boolean", int: "number", float: "number", str: "string"}
    return {"type": names[type(example)]} if type(example) in names else {}
