"""GitHub as `veriscene data get` sees it, on this machine, with faults to order."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from veriscene.corpora.transfer import Host


@dataclass
class Fake:
    """GitHub's two hosts in one, with faults to order."""

    repositories: dict[str, dict[str, bytes]]
    trees: dict[str, list[dict[str, object]]] = field(default_factory=dict)
    listed: list[str] = field(default_factory=list)
    tokens: set[str | None] = field(default_factory=set)
    served: list[tuple[str, str | None]] = field(default_factory=list)
    served_instead: dict[str, bytes] = field(default_factory=dict)
    cut_after: dict[str, int] = field(default_factory=dict)
    fails: dict[str, list[int]] = field(default_factory=dict)  # path -> the statuses of its next answers
    knows_range: bool = True

    def plant(self, files: dict[str, bytes]) -> str:
        """The id of a tree of these files, which `trees` then holds together with its subtrees."""
        entries: dict[str, dict[str, object]] = {}
        folders: dict[str, dict[str, bytes]] = {}
        for path, content in files.items():
            name, _, rest = path.partition("/")
            if rest:
                folders.setdefault(name, {})[rest] = content
            else:
                sha = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
                entries[name] = {"path": name, "type": "blob", "mode": "100644", "sha": sha, "size": len(content)}
        for name, inside in folders.items():
            entries[name] = {"path": name, "type": "tree", "mode": "040000", "sha": self.plant(inside)}
        sha = hashlib.sha1(json.dumps(entries).encode()).hexdigest()
        self.trees[sha] = list(entries.values())
        return sha

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        kind, owner, name, *rest = request.path.strip("/").split("/")[(0 if request.path.startswith("/raw") else 1) :]
        files = self.repositories[f"{owner}/{name}"]
        if kind == "repos":
            self.listed.append(rest[-1])
            self.tokens.add(request.headers["Authorization"])
            if statuses := self.fails.get("listing"):
                return self.refuse(request, statuses.pop(0))
            tree = self.trees.get(rest[-1]) or self.trees[self.plant(files)]
            return self.send(request, 200, json.dumps({"tree": tree, "truncated": False}).encode())
        path = "/".join(rest[1:])
        self.served.append((path, request.headers["Range"]))
        assert request.headers["Authorization"] is None
        if statuses := self.fails.get(path):
            return self.refuse(request, statuses.pop(0))
        content = self.served_instead.get(path, files[path])
        if self.knows_range and (asked := request.headers["Range"]):
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            if start >= len(content):
                return self.refuse(request, 416)
            span = {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"}
            return self.send(request, 206, content[start:], span, self.cut_after.get(path))
        return self.send(request, 200, content, {}, self.cut_after.get(path))

    def refuse(self, request: BaseHTTPRequestHandler, status: int) -> None:
        self.send(request, status, b"{}", {"X-RateLimit-Remaining": "0"} if status == 403 else {})

    def send(
        self,
        request: BaseHTTPRequestHandler,
        status: int,
        body: bytes,
        headers: dict[str, str] | None = None,
        cut_after: int | None = None,
    ) -> None:
        request.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(body[:cut_after])


@contextlib.contextmanager
def serving(fake: Fake) -> Iterator[Host]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            assert self.headers["User-Agent"] == "veriscene"
            fake.answer(self)

        def log_message(self, format: str, *args: object) -> None: ...

    class Server(ThreadingHTTPServer):
        request_queue_size = 64  # With the default of 5 the pool's connections wait a second for their turn.

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
    base = f"http://127.0.0.1:{server.server_port}"
    try:
        yield Host(api=f"{base}/api", raw=f"{base}/raw", timeout=5, pauses=(0.0, 0.0))
    finally:
        server.shutdown()
        server.server_close()
