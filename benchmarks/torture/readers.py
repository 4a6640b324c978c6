"""Everything that reads what a stranger may have written, as functions of bytes, each with valid inputs to start from.

A reader may return or raise InputError; anything else is a failure. What a reader returns is used as the commands use
it, so that a value of a wrong type is found where it would do harm.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from veriscene import config as configs
from veriscene import files, models, worlds
from veriscene.config import Config, TrainingConfig, presets
from veriscene.data import own
from veriscene.data.reader import SPECIAL_TOKENS, ReaderConfig
from veriscene.data.teacher.maker import Store
from veriscene.errors import InputError
from veriscene.judge import checkpoint as checkpoints
from veriscene.judge import folders, sessions
from veriscene.judge.card import model_card
from veriscene.judge.checkpoint import Checkpoint, TorchJudge
from veriscene.judge.folders import list_checkpoints
from veriscene.judge.onnx_judge import OnnxJudge
from veriscene.lab import seeds
from veriscene.language.bulk.arrays import SceneArrays
from veriscene.language.program import read_programs
from veriscene.models.reader import Reader, ReaderNetwork
from veriscene.models.vision import convert
from veriscene.report.page import facts, learning_curve
from veriscene.service.app import make_app
from veriscene.service.batching import Limits
from veriscene.service.documentation import routes
from veriscene.training.distributed import Machine
from veriscene.training.log import read_log
from veriscene.training.spec import SPEC, Record, Spec
from veriscene.training.state import STATE, TrainingState
from veriscene.training.train import train
from veriscene.world import corpus, drawing, examples
from veriscene.world.world_file import check_world, to_toml, to_tree, world_of
from veriscene.worlds.nlvr import synthetic
from veriscene.worlds.nlvr.looks import WORLD
from veriscene.worlds.nlvr.pictures import decode_file, from_bytes, to_png
from veriscene.worlds.nlvr.raster import pixels

SIZES = {"embedding": 4, "hidden": 4, "item": 4, "joint": 4, "mlp": 4}
STATEMENT = "There is a yellow circle."
ASGI = {"type": "http", "http_version": "1.1", "scheme": "http", "root_path": "", "query_string": b""}


@dataclass(frozen=True)
class Target:
    read: Callable[[bytes], object]
    inputs: Sequence[bytes]  # valid ones
    is_json: bool = False  # so that values in it can be replaced; of JSON lines, of one line


def _corpus(folder: Path) -> dict[str, list[examples.Example]]:
    drawn = synthetic.build(24, seed=5)
    found = {split: drawn["train"][start : start + 24] for split, start in (("train", 0), ("dev", 24))}
    for split, some in found.items():
        examples.write(folder / "corpus" / split / f"{split}.json", some, WORLD)
    return found


def targets(folder: Path) -> dict[str, Target]:
    """Returns the readers by name. They work in `folder`, where a small run is trained first."""
    configs.presets = cache(configs.presets)  # most of the time of reading one setting
    found = _corpus(folder)
    sizes = {each.name: SIZES[each.name] for each in fields(models.MODELS["bienc"].Config) if each.name in SIZES}
    settings = TrainingConfig(batch=8, epochs=2, ema=0.9)
    spec = Spec(Config(model=models.MODELS["bienc"].Config(**sizes), training=settings), corpus=folder / "corpus")
    train(spec, folder / "run", stop_after=lambda line: line.step >= 1)
    return {
        **_of_worlds(folder, found["train"][0]),
        **_of_checkpoints(folder),
        **_of_runs(folder, spec),
        **_of_arrays(folder),
        **_of_onnx(folder),
        **_of_service(checkpoints.load(folder / "run")),
    }


def _of_worlds(folder: Path, example: examples.Example) -> dict[str, Target]:
    world_file, lines, scene_file = folder / "world.toml", folder / "lines.json", folder / "scene.json"
    scenes, scene = WORLD.to_json_scene(example.scene), example.scene
    language = worlds.language(WORLD)
    record = json.dumps(examples.to_record(example, WORLD)).encode()

    def world(content: bytes) -> None:
        world_file.write_bytes(content)
        problems: list[InputError] = []
        found = check_world(world_file, problems)
        list(map(str, problems))
        if found is not None:
            assert world_of(to_tree(found), where="tree") == found

    def world_tree(content: bytes) -> None:
        assert to_toml(world_of(files.parse_json(content.decode("utf-8", "replace")), where="tree"))

    def corpus_lines(content: bytes) -> None:
        lines.write_bytes(content)
        for found in examples.scan(lines, WORLD):
            assert str(found)

    def scene_of(content: bytes) -> None:
        scene_file.write_bytes(content)
        found = examples.read_scene_file(scene_file, WORLD)
        assert WORLD.parse(WORLD.to_json_scene(found)) == found
        assert drawing.svg(WORLD, found)

    def program(content: bytes) -> None:
        found = language.parse(content.decode("utf-8", "replace"))
        assert language.parse(found.text) == found
        found.holds(scene)

    def programs(content: bytes) -> None:
        lines.write_bytes(content)
        read_programs(lines, language)

    def description(content: bytes) -> None:
        (folder / corpus.DESCRIPTION).write_bytes(content)
        corpus.supervision(folder)

    def picture(content: bytes) -> None:
        from_bytes(content)
        path = folder / "picture.png"
        path.write_bytes(content)
        decode_file(path)

    rng, draw = random.Random(1), worlds.require(WORLD, "draw_statement", "statements")
    texts = [draw(rng, "full").program.text for _ in range(8)]
    spoken = [json.dumps({"sentence": STATEMENT, "program": text}).encode() for text in texts]
    example_world = worlds.get(Path(__file__).parents[2] / "examples" / "shelf" / "shelf.toml")
    known = [WORLD, example_world]
    return {
        "world file": Target(world, [to_toml(each).encode() for each in known]),
        "world tree": Target(world_tree, [json.dumps(to_tree(each)).encode() for each in known], is_json=True),
        "corpus lines": Target(corpus_lines, [record, record + b"\n" + record], is_json=True),
        "scene": Target(scene_of, [json.dumps(scenes).encode(), json.dumps({"scene": scenes}).encode()], is_json=True),
        "program": Target(program, [text.encode() for text in texts]),
        "programs": Target(programs, [*spoken, b"\n".join(spoken)], is_json=True),
        "corpus.json": Target(description, [b'{"supervision": "labels"}'], is_json=True),
        "picture": Target(picture, [to_png(pixels(scene)), to_png(pixels(scene)[..., :3])]),
        **_of_tables(folder, scenes),
    }


def _of_tables(folder: Path, scenes: object) -> dict[str, Target]:
    table, predictions, preset = folder / "table.csv", folder / "predictions.csv", folder / "preset.toml"
    (folder / "scenes").mkdir(exist_ok=True)
    (folder / "scenes" / "1.json").write_text(json.dumps(scenes))

    def csv(content: bytes) -> None:
        table.write_bytes(content)
        own.split(own.read_table(table, folder / "scenes", WORLD, None), dev_share=0.5, seed=1)

    def verdicts(content: bytes) -> None:
        predictions.write_bytes(content)
        examples.read_predictions(predictions)

    def settings(content: bytes) -> None:
        preset.write_bytes(content)
        assert models.read_config(models.load_preset(preset).to_json(), where="again")

    def change(content: bytes) -> None:
        configs.parse_change(content.decode("utf-8", "replace"))
        models.load_preset("quick", [content.decode("utf-8", "replace")])

    rows = b"statement,scene,label\nThere is a circle.,1.json,true\nThere is a square.,1.json,false\n"
    return {
        "CSV": Target(csv, [rows]),
        "predictions": Target(verdicts, [b"1-0,true\n2-0,false\n"]),
        "preset": Target(settings, [text.encode() for text in presets().values()]),
        "setting": Target(change, [b"training.batch=64", b"model.dropout=0.3", b"data.order=file"]),
    }


def _of_checkpoints(folder: Path) -> dict[str, Target]:
    best = folder / "run" / "best"

    def part(name: str) -> Target:
        copy = folder / f"part {name}"
        shutil.copytree(best, copy / "runs" / "one" / "best")
        path = copy / "runs" / "one" / "best" / name

        def read(content: bytes) -> None:
            path.write_bytes(content)
            if name in (folders.METRICS, folders.CONFIG):
                for each in list_checkpoints(copy / "runs"):
                    assert each.dev_accuracy is None or f"{each.dev_accuracy:.1%}"
            judge = TorchJudge(checkpoints.load(path.parent))
            json.dumps(judge.describe(), allow_nan=False)
            if name == folders.METRICS:
                assert model_card(judge.checkpoint, name="name", scores={})

        return Target(read, [(best / name).read_bytes()], is_json=name.endswith(".json"))

    path = folder / "reader.safetensors"

    def reader(content: bytes) -> None:
        path.write_bytes(content)
        Reader.load(path).read([STATEMENT])

    tokens = [*SPECIAL_TOKENS, "exist", "(", ")"]
    sizes = ReaderConfig(words=4, tokens=len(tokens), dim=4, heads=2, feedforward=4, layers=1, ngrams=16)
    Reader(ReaderNetwork(sizes), ["a", "b"], tokens, worlds.language(WORLD)).save(path)
    parts = {name: part(name) for name in folders.FILES}
    return {**parts, "reader.safetensors": Target(reader, [path.read_bytes()])}


def _of_runs(folder: Path, spec: Spec) -> dict[str, Target]:
    run = folder / "run"
    machine = Machine()
    initial = checkpoints.load(run)
    state = TrainingState(initial, spec.config.training, machine, torch.load(run / "last" / STATE)["data"])
    many, resumed, logged = folder / "seeds", folder / "resumed", folder / "logged"
    for each in (many, logged):
        each.mkdir(exist_ok=True)
    (many / "seed1").mkdir(exist_ok=True)
    shutil.copytree(run / "last", resumed, dirs_exist_ok=True)

    def record(content: bytes) -> None:
        (many / SPEC).write_bytes(content)
        found = Record.read(many)
        seeds.is_folder_of_seeds(many)
        facts([(name, getattr(found, name) or "") for name in ("command", "commit", "started", "machine")])
        for seed in found.seeds[:2]:
            found.spec.for_seed(seed).to_json()
        found.check_unchanged(many)

    def summary(content: bytes) -> None:
        (many / SPEC).write_bytes(whole)
        (many / folders.SUMMARY).write_bytes(content)
        seeds.is_summarised(many, 1)
        folders.best_run(many)

    def trainer(content: bytes) -> None:
        (resumed / STATE).write_bytes(content)
        state.restore(resumed, total_steps=10**6)

    def log(content: bytes) -> None:
        (logged / "log.jsonl").write_bytes(content)
        learning_curve(read_log(logged), 0.5)

    whole = json.dumps({**json.loads((run / SPEC).read_text()), "seeds": [1, 2]}).encode()
    scores = b'{"best": "seed1", "supervision": "labels", "dev": {"scores": [1, 2], "mean": 0.5}}'
    return {
        "spec.json": Target(record, [(run / SPEC).read_bytes(), whole], is_json=True),
        "summary.json": Target(summary, [scores], is_json=True),
        "trainer.pt": Target(trainer, [(run / "last" / STATE).read_bytes()]),
        "log.jsonl": Target(log, [(run / "log.jsonl").read_bytes() * 2], is_json=True),
    }


def _of_arrays(folder: Path) -> dict[str, Target]:
    """Weights of others, and the cache of teachers."""
    weights, kept = folder / "weights.pth", folder / "epoch-0.npz"
    arrays = made_arrays()

    def pth(content: bytes) -> None:
        weights.write_bytes(content)
        convert._read_torch(weights)

    def epoch(content: bytes) -> None:
        kept.write_bytes(content)
        store = Store(WORLD, [b""], statements=4)
        try:
            made = store.read(kept)
        except files.DAMAGED:  # is made again
            return
        assert (made.labels == made.labels.astype(bool)).all() and made.statements.max(initial=0) < 4
        assert all(0 <= each < 4 for each in made.one_sided) and made.scenes.scenes() is not None

    stream, saved = io.BytesIO(), io.BytesIO()
    torch.save({"stem.weight": torch.ones(2, 3), "stem.bias": torch.ones(3)}, stream)
    legacy = io.BytesIO()
    torch.save({"stem.weight": torch.ones(2)}, legacy, _use_new_zipfile_serialization=False)
    np.savez(saved, **arrays)
    return {
        "weights.pth": Target(pth, [stream.getvalue(), legacy.getvalue()]),
        "teacher's cache": Target(epoch, [saved.getvalue()]),
    }


def made_arrays(**changes: Any) -> dict[str, Any]:
    """Returns the arrays of an epoch that a teacher made."""
    scenes = SceneArrays.of(WORLD, [each.scene for each in synthetic.build(12, seed=2)["train"][:4]])
    arrays = {"statements": np.arange(4, dtype=np.int32), "labels": np.array([True, False, True, True])}
    arrays |= {"scenes": scenes.fields, "one_sided": np.array([1]), "near_misses": np.array(2)}
    return {**arrays, **changes}


def _of_onnx(folder: Path) -> dict[str, Target]:
    import onnx

    from veriscene.judge.export import export

    sessions.try_opening = Trial()  # a hundred times as fast as a new process for each

    path, scene = folder / "model.onnx", synthetic.build(12, seed=2)["train"][0].scene
    question = STATEMENT, WORLD.to_json_scene(scene)
    export(checkpoints.load(folder / "run"), path)
    graph = onnx.load(str(path))
    metadata = {each.key: each.value for each in graph.metadata_props}

    def whole(content: bytes) -> None:
        OnnxJudge(content, threads=1)(*question)

    def about(content: bytes) -> None:
        """The metadata as one JSON object; a value that is not text is written as JSON."""
        try:
            found = json.loads(content)
        except (ValueError, RecursionError):
            return
        if not isinstance(found, dict):
            return
        del graph.metadata_props[:]
        for key, value in found.items():
            try:
                graph.metadata_props.add(key=key, value=value if isinstance(value, str) else json.dumps(value))
            except (ValueError, RecursionError, UnicodeError):  # the format itself cannot hold it
                return
        OnnxJudge(graph.SerializeToString(), threads=1)(*question)

    def parsed(text: str) -> object:
        return json.loads(text) if text[:1] in '[{"' else text

    seed = json.dumps({key: parsed(value) for key, value in metadata.items()}).encode()
    return {"ONNX": Target(whole, [path.read_bytes()]), "ONNX metadata": Target(about, [seed], is_json=True)}


class Trial:
    """Opens graphs in one other process after the other: a new one only when the last has crashed."""

    def __init__(self) -> None:
        self.owner = 0
        self.graphs: Any = None
        self.answers: Any = None

    def __call__(self, model: Path | bytes, weights: Path | None) -> None:
        content = model if isinstance(model, bytes) else model.read_bytes()
        if self.owner != os.getpid():  # this one was forked
            self._start()
        with suppress(BrokenPipeError):
            self.graphs.write(len(content).to_bytes(8, "little") + content)
            self.graphs.flush()
        if not self.answers.read(1):
            self.owner = 0
            os.wait()
            raise InputError("the runtime crashes")

    def _start(self) -> None:
        (graphs, graphs_out), (answers, answers_out) = os.pipe(), os.pipe()
        if os.fork():
            os.close(graphs)
            os.close(answers_out)
            self.owner, self.graphs, self.answers = os.getpid(), os.fdopen(graphs_out, "wb"), os.fdopen(answers, "rb")
            return
        os.close(graphs_out)
        with os.fdopen(graphs, "rb") as stream:
            while size := stream.read(8):
                with suppress(InputError):
                    sessions.Graph(stream.read(int.from_bytes(size, "little")), threads=1, is_own=True)
                os.write(answers_out, b".")
        os._exit(0)


def _of_service(checkpoint: Checkpoint) -> dict[str, Target]:
    # Made when it is first asked: the threads of a service do not survive a fork.
    app = cache(lambda: make_app({"0": TorchJudge(checkpoint)}, settings=Limits(judgements=4)))
    loop = cache(asyncio.new_event_loop)
    scene = synthetic.build(12, seed=2)["train"][0].scene
    documented = routes({"statement": STATEMENT, "scene": WORLD.to_json_scene(scene)})
    image = base64.b64encode(to_png(pixels(scene))).decode()
    bodies = {path: route.request for path, route in documented.items() if route.request is not None}
    bodies["/api/decode"] = {"image": image, "eyes": False}
    bodies["/api/explain"]["statement"] = "x"

    async def ask(path: str, body: bytes) -> tuple[int, bytes]:
        sent, answered = iter([{"type": "http.request", "body": body}]), list[Mapping[str, Any]]()

        async def receive() -> Mapping[str, Any]:
            message = next(sent, None)
            if message is None:
                await asyncio.Event().wait()
            return cast(Mapping[str, Any], message)

        async def send(message: Mapping[str, Any]) -> None:
            answered.append(message)

        headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]
        scope = {**ASGI, "method": "POST", "path": path, "raw_path": path.encode(), "headers": headers}
        await app()({**scope, "server": ("127.0.0.1", 8000)}, receive, send)  # type: ignore[arg-type]
        return answered[0]["status"], b"".join(each.get("body", b"") for each in answered)

    def target(path: str, body: object) -> Target:
        def read(content: bytes) -> None:
            status, answer = loop().run_until_complete(ask(path, content))
            assert status in (200, 413, 422), (status, answer[:200])
            json.loads(answer)

        return Target(read, [json.dumps(body).encode()], is_json=True)

    return {f"POST {path}": target(path, body) for path, body in bodies.items()}
