"""The HTTP service: every route, what it refuses, and how it behaves under load and at its end."""

from __future__ import annotations

import asyncio
import base64
import io
import random
import re
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from fastapi import Request
from http_service import JUDGE, Client, HeldJudge, parse, running, tree_of

import veriscene
from scripts import script
from small_models import EXAMPLES
from veriscene.errors import InputError
from veriscene.judge.judge import EyesJudge, Judge, Question
from veriscene.models.vision.eyes import Eyes
from veriscene.service import app, middleware, service
from veriscene.service.batching import Limits
from veriscene.world.examples import Example
from veriscene.world.random_scenes import random_scene
from veriscene.world.world_file import world_of
from veriscene.worlds.nlvr.looks import WORLD
from veriscene.worlds.nlvr.pictures import to_png
from veriscene.worlds.nlvr.raster import pixels

hostile = script("hostile")
QUESTION, ROUTES, SCENE = hostile.QUESTION, hostile.ROUTES, hostile.SCENE
STATEMENT = QUESTION["statement"]
IMAGE = base64.b64encode(to_png(pixels(parse(SCENE)))).decode()
BLANK = base64.b64encode(to_png(pixels(parse(SCENE)) * 0 + 211)).decode()
HEAD = b"POST /api/judge HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
MARGIN = "image.between boxes 1 and 2.pixel x=100 y=0 of the picture"  # where BLANK first differs from a scene


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with running(JUDGE, EyesJudge(JUDGE, Eyes.load()), limits=Limits(body=100_000, questions=50)) as client:
        yield client


# ---------------------------------------------------------------- answers


@pytest.mark.parametrize("path", [path for path in ROUTES if path != "/metrics"])
def test_the_documented_examples_work(client: Client, path: str) -> None:
    route = ROUTES[path]
    request = {"image": IMAGE} if path == "/api/decode" else route.request
    status, answer = client.get(path) if request is None else client.post(path, request)
    assert status == 200
    assert answer.keys() >= route.response.keys()


def test_a_verdict_is_that_of_the_judge(client: Client) -> None:
    expected = JUDGE(STATEMENT, SCENE)
    status, answer = client.post("/api/judge", {**QUESTION, "attention": True})
    assert (status, answer) == (200, expected.to_json(attention=True))
    for model in ("0", "1"):
        status, seen = client.post("/api/judge", {"statement": STATEMENT, "image": IMAGE, "model": model})
        assert status == 200 and seen["probability"] == pytest.approx(expected.probability, abs=1e-5)


def test_a_picture_is_explained_by_its_scene(client: Client) -> None:
    status, answer = client.post("/api/explain", {"statement": STATEMENT, "image": IMAGE})
    assert status == 200 and answer == client.post("/api/explain", QUESTION)[1]
    assert answer["scene"] == SCENE


def test_batched_verdicts_are_those_of_the_judge() -> None:
    questions = [Question(example.statement, example.scene) for example in EXAMPLES]
    records = [{"statement": each.statement, "scene": WORLD.to_json_scene(each.scene)} for each in EXAMPLES]
    expected = [JUDGE(question).probability for question in questions]
    held = HeldJudge()
    with running(held, limits=Limits(workers=1)) as client, ThreadPoolExecutor(len(records) + 1) as pool:
        first = pool.submit(client.post, "/api/judge", records[0])
        assert held.asked.wait(10)
        answers = [pool.submit(client.post, "/api/judge", record) for record in records]
        wait_for(client, len(records))
        held.released.set()
        assert first.result()[1]["probability"] == pytest.approx(expected[0], abs=1e-5)
        assert [answer.result()[1]["probability"] for answer in answers] == pytest.approx(expected, abs=1e-5)
        many = client.post("/api/judge/many", {"questions": records})[1]["verdicts"]
        assert [each["probability"] for each in many] == pytest.approx(expected, abs=1e-5)
    assert max(held.batches) == Limits().batch


def test_pictures_and_scenes_are_translated_exactly(client: Client) -> None:
    assert client.post("/api/render", {"scene": SCENE, "format": "png"}) == (200, {"image": IMAGE})
    assert client.post("/api/render", {"scene": SCENE, "format": "svg"})[1]["svg"].startswith("<svg")
    for eyes in (True, False):
        status, answer = client.post("/api/decode", {"image": IMAGE, "eyes": eyes})
        assert status == 200 and parse(answer["scene"]) == parse(SCENE)


def test_random_scenes_are_of_the_kind_asked_for(client: Client) -> None:
    for kind in ("tower", "scatter"):
        drawn = [client.get(f"/api/scenes/random?kind={kind}")[1] for _ in range(5)]
        for each in drawn:
            are_towers = map(WORLD.is_tower, parse(each["scene"]).boxes)
            assert all(are_towers) == (kind == "tower") and each["statement"]


def test_the_world_of_a_model_is_told(client: Client) -> None:
    status, world = client.get("/api/world?model=1")
    assert status == 200 and world == {**tree_of("nlvr"), "abilities": {"pictures": True}}
    assert client.get("/api/world?model=x")[0] == 422
    assert [each["world"] for each in client.get("/api/models")[1]["models"]] == ["nlvr", "nlvr"]


def test_the_grammar_makes_statements_for_a_model_that_reads_english() -> None:
    judge = veriscene.load("shapeworld")
    with running(judge) as client:
        drawn = [client.get(f"/api/scenes/{kind}")[1] for kind in ("random", "example") * 4]
    verdicts = judge([(each["statement"], judge.world.parse(each["scene"])) for each in drawn])
    assert sum(verdict.verdict == each["label"] for verdict, each in zip(verdicts, drawn, strict=True)) >= 6


def test_a_model_of_another_world_is_served(shelf_judge: Judge) -> None:
    world = shelf_judge.world
    example = Example("0-0", "There is a red jar.", random_scene(world, random.Random(1)), True, world=world)
    with running(shelf_judge, examples=[example]) as client:
        status, tree = client.get("/api/world")
        assert status == 200 and tree.pop("abilities") == {"pictures": False}
        assert world_of(tree, where="answer") == world
        shown = {"statement": example.statement, "scene": world.to_json_scene(example.scene)}
        assert client.get("/api/scenes/example") == (200, {**shown, "label": True})
        for _ in range(5):
            status, drawn = client.get("/api/scenes/random")
            assert status == 200 and drawn["statement"] is None
            scene, question = world.parse(drawn["scene"]), {**shown, "scene": drawn["scene"]}
            verdict = shelf_judge(example.statement, scene)
            status, answer = client.post("/api/judge", {**question, "attention": True})
            assert status == 200 and answer == verdict.to_json(attention=True)
            assert [sorted(order) for order in answer["order"]] == [list(range(len(box))) for box in drawn["scene"]]
        status, explained = client.post("/api/explain", question)
        assert status == 200 and explained["scene"] == drawn["scene"] and explained["searched"]["judgements"] > 1
        assert client.post("/api/render", {"scene": drawn["scene"], "format": "svg"})[0] == 200
        for path, body, field in (
            ("/api/judge", {**question, "scene": SCENE}, "scene.shelf 1.product 1"),
            ("/api/judge", {"statement": STATEMENT, "image": IMAGE}, "image"),
            ("/api/render", {"scene": drawn["scene"], "format": "png"}, "format"),
        ):
            status, answer = client.post(path, body)
            assert status == 422 and answer["detail"][0]["field"] == field
        status, answer = client.get("/api/scenes/random?kind=tower")
        assert status == 422 and answer["detail"][0]["field"] == "kind"


@pytest.mark.parametrize("path", ["/api/render", "/api/decode", "/api/explain"])
def test_slow_work_is_not_done_on_the_event_loop(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    busy, go_on = threading.Event(), threading.Event()

    def slow(*args: object, **kwargs: object) -> Any:
        busy.set()
        assert go_on.wait(20)
        raise InputError("slow")

    for name in ("render", "read_picture", "explain"):
        monkeypatch.setattr(service, name, slow)
    with running(JUDGE) as client, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(client.post, path, ROUTES[path].request)
        assert busy.wait(20)
        assert client.get("/health")[0] == 200
        go_on.set()
        assert answer.result()[0] == 422


def test_models_are_listed_and_the_first_is_the_default(client: Client) -> None:
    listed = client.get("/api/models")[1]["models"]
    assert [(each["name"], each["model"], each["default"]) for each in listed] == [
        ("0", "biatt-pointer", True),
        ("1", "eyes + biatt-pointer", False),
    ]


def test_pages_need_nothing_from_elsewhere(client: Client) -> None:
    for path in ("/", "/docs", "/static/docs.css"):
        status, text, headers = client.send("GET", path)
        assert status == 200
        assert "default-src 'none'" in headers["content-security-policy"]
        loaded = re.sub('<a href="https://[^"]*"', "", text.replace("http://www.w3.org/", ""))
        assert "http://" not in loaded and "https://" not in loaded
    etag = client.send("GET", "/")[2]["etag"]
    assert client.send("GET", "/", **{"If-None-Match": etag})[0] == 304
    assert set(client.get("/openapi.json")[1]["paths"]) == set(ROUTES)


def test_metrics_count_requests_and_batches(client: Client) -> None:
    def count(text: str) -> float:
        line = next((line for line in text.splitlines() if line.startswith(counted)), f"{counted} 0")
        return float(line.split()[-1])

    counted = 'veriscene_requests_total{route="/api/judge",status="200"}'
    before = count(client.get("/metrics")[1])
    client.post("/api/judge", QUESTION)
    text = client.get("/metrics")[1]
    assert count(text) == before + 1
    for name in ("veriscene_request_seconds_bucket", "veriscene_batch_size_bucket", "veriscene_queue_length"):
        assert name in text


# ---------------------------------------------------------------- what is refused


def with_item(**changes: Any) -> dict[str, Any]:
    return {"statement": STATEMENT, "scene": [SCENE[0], [{**SCENE[1][0], **changes}], SCENE[2]]}


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/api/judge", with_item(x_loc=90), "scene.box 2.item 1.x_loc"),
        ("/api/judge", with_item(color="red"), "scene.box 2.item 1.color"),
        ("/api/judge", {"statement": STATEMENT}, "scene"),
        ("/api/judge", {"scene": SCENE}, "statement"),
        ("/api/judge", {"statement": "a " * 257, "scene": SCENE}, "statement"),
        ("/api/judge", {"statement": "a" * 5000, "scene": SCENE}, "statement"),
        ("/api/judge", {**QUESTION, "model": "x"}, "model"),
        ("/api/judge", {**QUESTION, "attention": 1}, "attention"),
        ("/api/judge", {"statement": STATEMENT, "image": "QUJD"}, "image"),
        ("/api/judge", {"statement": STATEMENT, "image": BLANK}, MARGIN),
        ("/api/judge", {"statement": STATEMENT, "image": BLANK, "model": "1"}, "image.box 1"),
        ("/api/judge/many", {"questions": [QUESTION] * 51}, "questions"),
        ("/api/explain", {"statement": STATEMENT, "image": BLANK}, MARGIN),
        ("/api/render", {"scene": SCENE, "format": "gif"}, "format"),
        ("/api/decode", {"image": BLANK, "eyes": False}, MARGIN),
        ("/api/decode", {}, "image"),
        ("/api/judge", b'{"statement"', "body"),
        ("/api/judge", b"[]", "body"),
        ("/api/judge", b"\xff", "body"),
    ],
)
def test_invalid_requests_name_the_field(client: Client, path: str, body: Any, field: str) -> None:
    status, answer = client.post(path, body)
    assert status == 422
    (problem,) = answer["detail"]
    assert problem["field"] == field and problem["message"]


@pytest.mark.parametrize("model", ["0", "1"])
def test_a_question_that_cannot_be_judged_keeps_its_place(client: Client, model: str) -> None:
    seen = {"statement": STATEMENT, "image": IMAGE}
    questions = [QUESTION, with_item(size=7), seen, {"statement": STATEMENT, "image": "QUJD"}, {"scene": SCENE}, 7]
    status, answer = client.post("/api/judge/many", {"questions": questions, "model": model})
    assert status == 200
    first, *others = answer["verdicts"]
    assert others[1]["probability"] == pytest.approx(first["probability"], abs=1e-5)
    errors = [others[place]["error"]["field"] for place in (0, 2, 3, 4)]
    assert errors == ["scene.box 2.item 1.size", "image", "statement", ""]


def test_an_unknown_kind_is_refused(client: Client) -> None:
    status, answer = client.get("/api/scenes/random?kind=heap")
    assert status == 422 and answer["detail"][0]["field"] == "kind"


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_refused(client: Client, chunked: bool) -> None:
    content = b" " * 100_001
    status, answer, _ = client.send("POST", "/api/judge", io.BytesIO(content) if chunked else content)
    assert status == 413 and answer["detail"]
    assert client.post("/api/judge", b" " * 100_000)[0] == 422


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_what_any_page_can_make_a_browser_send_is_refused(client: Client, kind: str) -> None:
    assert client.send("POST", "/api/judge", QUESTION, **{"Content-Type": kind})[0] == 415
    assert client.send("POST", "/api/judge", QUESTION, **{"Content-Type": "application/json; charset=utf-8"})[0] == 200


def test_only_its_own_names_are_served_and_no_redirect_names_another() -> None:
    with running(JUDGE, hosts={"localhost", "::1"}) as client:
        for host, status in (
            ("localhost:80", 200),
            ("[::1]:80", 200),
            ("evil.com", 421),
            ("localhost.evil.com", 421),
            ("localhost:80@evil.com", 421),
        ):
            assert client.send("GET", "/health", Host=host)[0] == status
    with running(JUDGE) as client:
        status, _, headers = client.send("GET", "/health/", Host="evil.com")
        assert status == 404 and "location" not in headers


def test_head_is_answered_like_get_without_a_body(client: Client) -> None:
    for path in ("/health", "/ready", "/", "/api/models"):
        status, text, headers = client.send("HEAD", path)
        assert status == 200 and not text and int(headers["content-length"]) > 0


def test_the_description_says_what_is_required(client: Client) -> None:
    paths = client.get("/openapi.json")[1]["paths"]
    judge = paths["/api/judge"]["post"]
    schema = judge["requestBody"]["content"]["application/json"]["schema"]
    assert schema["required"] == ["statement"]
    assert {tuple(each["required"]) for each in schema["anyOf"]} == {("scene",), ("image",)}
    for route in paths.values():
        for operation in route.values():
            for answer in operation["responses"].values():
                assert answer["content"].get("application/json", {"schema": True})["schema"]


@pytest.mark.parametrize("level", [0, 255])
def test_a_picture_of_nothing_is_not_a_scene(client: Client, level: int) -> None:
    plain = base64.b64encode(to_png(pixels(parse(SCENE)) * 0 + np.array([level] * 3 + [255], np.uint8))).decode()
    for path, body in (("/api/decode", {}), ("/api/judge", {"statement": STATEMENT, "model": "1"})):
        assert client.post(path, {**body, "image": plain})[0] == 422


# ---------------------------------------------------------------- under load


def test_slow_clients_are_cut_off_and_keep_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "HEADER_SECONDS", 1.0)
    monkeypatch.setattr(app, "MAX_CONNECTIONS", 20)
    with running(JUDGE, limits=Limits(seconds=1.0)) as client:
        address = ("127.0.0.1", client.port)
        dripping = [socket.create_connection(address) for _ in range(60)]
        for each in dripping:
            each.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n")
        assert client.get("/health")[0] == 200
        for each in dripping:
            each.settimeout(10)
            with suppress(ConnectionError):  # those that made room for others
                answer = each.recv(100)
                assert not answer or b" 408 " in answer
            each.close()
        with socket.create_connection(address, timeout=10) as half:
            half.sendall(HEAD % 100 + b"{")
            assert b" 408 " in half.recv(1000).split(b"\r\n")[0]


def test_bodies_that_do_not_arrive_keep_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "MAX_REQUESTS", 2)
    monkeypatch.setattr(app, "MAX_CONNECTIONS", 20)
    with running(JUDGE) as client, ExitStack() as open_ones:
        address = ("127.0.0.1", client.port)
        for count in (10, 60):  # more than requests, and then than connections
            for _ in range(count):
                open_ones.enter_context(socket.create_connection(address)).sendall(HEAD % 100 + b"{")
            assert client.get("/health")[0] == client.get("/")[0] == client.post("/api/judge", QUESTION)[0] == 200


def test_clients_that_do_not_read_their_answers_keep_nobody_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "MAX_REQUESTS", 2)
    monkeypatch.setattr(app, "READ_SECONDS", 1.0)
    with running(JUDGE) as client, ExitStack() as open_ones:
        stalled = [open_ones.enter_context(socket.socket()) for _ in range(10)]
        for each in stalled:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            each.connect(("127.0.0.1", client.port))
            each.setblocking(False)
            each.send(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 500)
        end = time.monotonic() + 60
        while open_connections(client) > 1:
            assert time.monotonic() < end
            assert client.get("/")[0] == 200
            time.sleep(0.1)


def open_connections(client: Client) -> int:
    """At the service's end, this request's included."""
    table = Path("/proc/net/tcp").read_text().splitlines()[1:]
    found = [(local.rpartition(":")[2], state) for _, local, _, state, *_ in map(str.split, table)]
    return found.count((f"{client.port:04X}", "01"))


def test_large_requests_have_a_limit_together_and_small_ones_are_let_in_beyond_it() -> None:
    limits = Limits(arriving=400_000)
    with running(JUDGE, limits=limits) as client, ExitStack() as open_ones:
        head = HEAD % 1_000_000
        for _ in range(2):
            open_ones.enter_context(socket.create_connection(("127.0.0.1", client.port))).sendall(head + b" " * 190_000)
        deadline = time.monotonic() + 20
        while True:
            status, answer, headers = client.send("POST", "/api/judge", b" " * 100_000 + b"{}")
            if status == 503:
                break
            assert time.monotonic() < deadline
        assert answer["detail"] and headers["retry-after"]
        assert client.post("/api/judge", QUESTION)[0] == 200
    with running(JUDGE, limits=limits) as client:
        for _ in range(10):  # what has arrived counts no longer
            assert client.send("POST", "/api/judge", b" " * 100_000 + b"{}")[0] == 422


def test_beyond_the_limit_requests_are_refused_politely_and_health_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "MAX_REQUESTS", 2)
    held = HeldJudge()
    with running(held, limits=Limits(workers=1)) as client, ThreadPoolExecutor(2) as pool:
        accepted = asked(client, held, pool, waiting=1)
        status, answer, headers = client.send("POST", "/api/judge", QUESTION)
        assert status == 503 and answer["detail"] and headers["retry-after"] and headers["x-content-type-options"]
        assert client.get("/health")[0] == 200
        assert 'status="503"} 1.0' in client.get("/metrics")[1]
        held.released.set()
        assert [each.result()[0] for each in accepted] == [200] * 2


def wait_for(client: Client, waiting: int) -> None:
    """Until so many questions wait."""
    end = time.monotonic() + 20
    while f'veriscene_queue_length{{model="0"}} {waiting:.1f}' not in client.get("/metrics")[1]:
        assert time.monotonic() < end, client.get("/metrics")[1]
        time.sleep(0.01)


def asked(client: Client, held: HeldJudge, pool: ThreadPoolExecutor, *, waiting: int) -> list[Future[Any]]:
    """The answers to a question that is being judged, and to others that wait."""
    answers = [pool.submit(client.post, "/api/judge", QUESTION)]
    assert held.asked.wait(10)
    answers += [pool.submit(client.post, "/api/judge", QUESTION) for _ in range(waiting)]
    wait_for(client, waiting)
    return answers


def test_a_full_queue_is_503_and_accepted_questions_are_answered() -> None:
    held = HeldJudge()
    with running(held, limits=Limits(queue=2, workers=1)) as client, ThreadPoolExecutor(3) as pool:
        accepted = asked(client, held, pool, waiting=2)
        status, answer, headers = client.send("POST", "/api/judge", QUESTION)
        assert status == 503 and answer["detail"] and int(headers["retry-after"]) >= 1
        held.released.set()
        assert [each.result()[0] for each in accepted] == [200] * 3


def test_a_request_that_takes_too_long_is_503_and_is_not_judged_later() -> None:
    held = HeldJudge()  # the limit also holds for the last request, which a busy machine must answer in time
    with running(held, limits=Limits(seconds=1.5, workers=1)) as client, ThreadPoolExecutor(3) as pool:
        late = [pool.submit(client.send, "POST", "/api/judge", QUESTION)]
        assert held.asked.wait(10)
        late += [pool.submit(client.send, "POST", "/api/judge", QUESTION) for _ in range(2)]
        for status, _, headers in (each.result() for each in late):
            assert status == 503 and "retry-after" in headers
        held.released.set()
        assert client.post("/api/judge", QUESTION)[0] == 200
    assert held.batches == [1, 1]  # the one that had begun, and the last request


def test_what_took_too_long_has_ended_before_the_client_hears_of_it() -> None:
    ended = False

    async def answer() -> None:
        nonlocal ended
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.01)
            ended = True

    async def handle() -> bool:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await app._unless_gone(cast(Request, SimpleNamespace(receive=asyncio.Event().wait)), answer())
        return ended

    assert asyncio.run(handle())


def test_a_client_that_goes_away_does_not_disturb_the_others() -> None:
    held = HeldJudge()
    with running(held, limits=Limits(workers=1)) as client, ThreadPoolExecutor(2) as pool:
        first = pool.submit(client.post, "/api/judge", QUESTION)
        assert held.asked.wait(10)
        with socket.create_connection(("127.0.0.1", client.port)) as gone:
            body = b'{"statement": "There is a circle.", "scene": %s}' % str(SCENE).replace("'", '"').encode()
            gone.sendall(HEAD % len(body) + body)
            wait_for(client, 1)
        second = pool.submit(client.post, "/api/judge", QUESTION)
        wait_for(client, 2)
        held.released.set()
        assert first.result()[0] == second.result()[0] == 200
    assert held.batches == [1, 1]


def test_shutdown_answers_accepted_requests() -> None:
    held = HeldJudge()
    with ThreadPoolExecutor(5) as pool:
        with running(held, limits=Limits(workers=1)) as client:
            accepted = asked(client, held, pool, waiting=4)
            threading.Timer(0.5, held.released.set).start()  # by then the service is shutting down
        assert [each.result()[0] for each in accepted] == [200] * 5


def test_hostile_requests_are_answered_and_never_with_500(client: Client) -> None:
    counts = hostile.statuses(client.port, hostile.hostile_requests(300, seed=3))
    assert counts[422] > 100 and counts[200] > 8 and counts[0] < 10
    assert client.get("/ready") == (200, {"ready": True})
