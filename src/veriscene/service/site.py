"""The page as a static folder: the model runs in the browser, and no server answers.

The folder holds the page, onnxruntime-web and the shipped model `best`. Large files are compressed here, because not
every static host compresses them; the browser decompresses them (page/local/weights.js).
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import random
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from veriscene import files, worlds
from veriscene.data.eyes import SHIPPED as EYES
from veriscene.errors import InputError
from veriscene.judge.folders import GRAPH, READER, WEIGHTS, find
from veriscene.judge.onnx_judge import OnnxJudge, graphs_of
from veriscene.judge.sessions import weights_header
from veriscene.output import Say, silent
from veriscene.world.world_file import to_tree

MODEL = "best"
PACKAGE, VERSION = "onnxruntime-web", "1.30.0"
# Of the file that `npm pack` writes, as npm states it.
INTEGRITY = "sha512-q0y+JrrtukXSzsBWEMccVfqX25LRmosXHF+CaRJmg8pZClzcV7svNc4rKY3jL02Vb7QmRMDs1SigqR4CXAfKYQ=="
SCRIPT, WASM = "ort.wasm.bundle.min.mjs", "ort-wasm-simd-threaded.wasm"  # the smallest that runs without a GPU
PAGE = Path(__file__).parent / "page"
PREVIEW = "static/preview.png"  # what others show with a link to the page
LEVELS = 71  # largest whole number of a weight; fewer levels compress better, and 63 change verdicts
MIN_PACKED = 4096  # numbers of a matrix that is stored in whole numbers
EXAMPLES = 60  # scenes of each kind
HINT = "give a new folder"
_SOURCE = """// The answers that this page shows: those of the model in this folder.

import { LocalAnswers } from "./local/answers.js";

export const answers = new LocalAnswers();
export const links = LINKS;
"""


def write_site(
    folder: Path,
    *,
    runtime: Path | None = None,
    code: str | None = None,
    url: str | None = None,
    say: Say = silent,
) -> int:
    """Writes the static page and returns the bytes of the files that a first visit loads.

    `runtime` is a folder with onnxruntime-web's files; without it, npm downloads the pinned version. `code` is the
    address of the repository that the page links to, `url` that of the page itself, which previews of links need.
    Raises InputError if the folder is not empty or the runtime cannot be had.
    """
    with files.filled(folder, hint=HINT) as new, tempfile.TemporaryDirectory() as temporary:
        if runtime is None:
            say(f"downloading {PACKAGE} {VERSION}")
            runtime = download_runtime(Path(temporary))
        script, wasm = (_find(runtime, name) for name in (SCRIPT, WASM))
        say("compressing the runtime and the model")
        _write_page(new, {} if code is None else {"Code": code, "Docs": f"{code.rstrip('/')}/tree/main/docs"}, url)
        written = {"runtime": _compress(new, "runtime", WASM, wasm.read_bytes()), **_write_model(new)}
        shutil.copyfile(script, new / "runtime" / SCRIPT)
        segments, eyes = written["network"].pop("segments"), sum(_sizes(written["eyes"]))  # loaded with a picture only
        about = _about(written, segments, loaded=sum(_sizes(written)) - eyes)
        _compress(new, "model", "site.json", json.dumps(about).encode())
        return sum(path.stat().st_size for path in new.rglob("*") if path.is_file() and path != new / PREVIEW) - eyes


def download_runtime(folder: Path) -> Path:
    """Downloads onnxruntime-web into a folder with npm; raises InputError unless its checksum is the pinned one."""
    if shutil.which("npm") is None:
        allowed = f"install npm, or give --runtime a folder with {SCRIPT} and {WASM}"
        raise InputError("npm is needed to download onnxruntime-web", allowed=allowed)
    command = ["npm", "pack", f"{PACKAGE}@{VERSION}", "--pack-destination", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    archive = folder / f"{PACKAGE}-{VERSION}.tgz"
    if done.returncode or not archive.exists():
        what = f"npm could not download {PACKAGE} {VERSION}"
        raise InputError(what, allowed=f"check the network, or give --runtime a folder with {SCRIPT} and {WASM}")
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if f"sha512-{digest}" != INTEGRITY:
        raise InputError(f"{PACKAGE} {VERSION} has an unexpected checksum", allowed="try again later")
    with tarfile.open(archive) as stream:
        for name in (SCRIPT, WASM):
            content = stream.extractfile(f"package/dist/{name}")
            assert content is not None
            (folder / name).write_bytes(content.read())
    return folder


def _find(runtime: Path, name: str) -> Path:
    """A file of the runtime, in its folder or in `dist`, as in node_modules/onnxruntime-web."""
    for path in (runtime / name, runtime / "dist" / name):
        if path.is_file():
            return path
    allowed = f"give a folder of {PACKAGE} {VERSION}, or leave --runtime out"
    raise InputError(f"{name} is missing", where=runtime, allowed=allowed)


def _write_page(folder: Path, links: dict[str, str], url: str | None) -> None:
    text = (PAGE / "index.html").read_text(encoding="utf-8")
    if url is not None:  # whoever previews a link does not look for a relative address
        text = text.replace(f'"{PREVIEW}"', f'"{html.escape(url.rstrip("/"))}/{PREVIEW}"')
    (folder / "index.html").write_text(text, encoding="utf-8")
    skipped = shutil.ignore_patterns("index.html", "source.js", "docs.css", "__pycache__")
    shutil.copytree(PAGE, folder / "static", ignore=skipped)
    (folder / "static" / "source.js").write_text(_SOURCE.replace("LINKS", json.dumps(links)), encoding="utf-8")
    (folder / ".nojekyll").touch()  # GitHub Pages serves the files as they are


# ---------------------------------------------------------------- the model


def _write_model(folder: Path) -> dict[str, Any]:
    """Writes the graphs and weights; returns where they are, and the segments of the packed network."""
    source = find(MODEL)

    def write(path: Path, content: bytes | None = None) -> dict[str, Any]:
        return _compress(folder, "model", path.name, path.read_bytes() if content is None else content)

    packed, segments = pack(source / WEIGHTS)
    encoder, decoder = graphs_of(source / READER)
    return {
        "network": {"graph": write(source / GRAPH), "weights": write(source / WEIGHTS, packed), "segments": segments},
        "reader": {"encoder": write(encoder), "decoder": write(decoder), "weights": write(source / READER)},
        "eyes": {"graph": write(EYES.with_suffix(".onnx")), "weights": write(EYES)},
    }


def _compress(folder: Path, part: str, name: str, content: bytes) -> dict[str, Any]:
    """Writes a compressed file; returns its name, its path in the folder and its size."""
    path = folder / part / f"{name}.gz"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(content, 9, mtime=0))
    return {"name": name, "path": f"{part}/{name}.gz", "bytes": path.stat().st_size}


def _sizes(table: Any) -> list[int]:
    """The sizes of all files in nested tables."""
    if "bytes" in table:
        return [table["bytes"]]
    return [size for part in table.values() for size in _sizes(part)]


def pack(path: Path) -> tuple[bytes, list[int | list[int]]]:
    """Returns the weights of a safetensors file, with large matrices in half precision as whole numbers, one scale for
    each row; and the segments of the file: bytes that are kept, or [rows, columns] of such a matrix.

    `unpack` in page/local/weights.js makes a safetensors file of them.
    """
    content = path.read_bytes()
    tensors = sorted(weights_header(path)[0].values(), key=lambda tensor: int(tensor["data_offsets"][0]))
    parts: list[bytes] = []
    segments: list[int | list[int]] = []
    kept = 0
    for tensor in tensors:
        begin, end = tensor["data_offsets"]
        if tensor["dtype"] != "F16" or len(tensor["shape"]) < 2 or end - begin < 2 * MIN_PACKED:
            continue
        if begin > kept:
            parts.append(content[kept:begin])
            segments.append(begin - kept)
        matrix = np.frombuffer(content[begin:end], np.float16).astype(np.float32)
        matrix = matrix.reshape(tensor["shape"][0], -1)
        scales = np.abs(matrix).max(1) / np.float32(LEVELS)
        scales[scales == 0] = 1
        codes = np.rint(matrix / scales[:, None]).astype(np.int8)
        parts += [scales.tobytes(), codes.tobytes()]
        segments.append(list(matrix.shape))
        kept = end
    if len(content) > kept:
        parts.append(content[kept:])
        segments.append(len(content) - kept)
    return b"".join(parts), segments


def _about(written: dict[str, Any], segments: list[int | list[int]], *, loaded: int) -> dict[str, Any]:
    """What the browser must know of the model besides its graphs and weights."""
    source = find(MODEL)
    judge = OnnxJudge.load(source, threads=1)
    reader, world = judge.reader, judge.world
    assert reader is not None
    described = {"model": judge.name, "dev_accuracy": judge.metrics.get("dev_accuracy"), "world": world.name}
    names = ("words", "tokens", "layers", "heads", "dim", "ngrams", "max_words", "max_tokens")
    return {
        "models": [{"name": MODEL, **described, "default": True}],
        "world": {**to_tree(world), "abilities": {"pictures": True}},
        "vocabulary": judge.encoder.vocabulary.words,
        "offers": judge.offers,
        "reader": {
            "config": {name: getattr(reader.config, name) for name in names},
            "words": reader.words,
            "tokens": reader.tokens,
        },
        "examples": _examples(judge),
        "files": written,
        "segments": segments,
        "bytes": loaded,
    }


def _examples(judge: OnnxJudge) -> dict[str, list[dict[str, Any]]]:
    """Scenes that the page shows, by kind; "example" are of any kind."""
    draw = worlds.require(judge.world, "draw_example", "examples")
    rng = random.Random(1)
    kinds = {"example": None, **{kind: kind for kind in worlds.scene_kinds(judge.world)}}
    return {
        name: [
            {"statement": statement, "scene": judge.world.to_json_scene(scene), "label": label}
            for statement, scene, label in (draw(rng, kind) for _ in range(EXAMPLES))
        ]
        for name, kind in kinds.items()
    }
