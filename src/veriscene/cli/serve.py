"""`veriscene serve`: the HTTP API and the page on one port. `veriscene site`: the page without a server."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from veriscene.cli import output
from veriscene.cli.output import argument, option
from veriscene.errors import InputError

if TYPE_CHECKING:
    from veriscene.judge.judge import Judge
    from veriscene.world.schema import World


def serve(
    models: Annotated[
        list[str],
        argument(
            "Shipped checkpoints, folders written by `veriscene train`, or .onnx files; the first is the default.",
            metavar="MODEL...",
        ),
    ],
    host: Annotated[str, option("The address to bind to.")] = "127.0.0.1",
    port: Annotated[int, option("0: any free one.", min=0, max=65535)] = 8000,
    data: Annotated[Path | None, option("File whose examples the page shows.")] = None,
    allow_host: Annotated[
        list[str] | None,
        option("A name, as of a proxy, by which it may be addressed; may be repeated.", metavar="NAME"),
    ] = None,
    eyes: Annotated[bool, option("Judge by what is recognised in pictures of the scenes.", "--eyes")] = False,
) -> None:
    """Serve models over HTTP, with a page to try them on. Ctrl-C answers what was accepted, then ends.

    Example: veriscene serve best best-pixels, then open http://127.0.0.1:8000
    """
    output.require_one_process("serve")
    from veriscene import worlds
    from veriscene.judge import load
    from veriscene.service.app import configure_process, listen, make_app, run

    for name in models:
        if models.count(name) > 1:
            raise InputError("is named twice", where=f"model {name}", allowed="name each model once")
    listener = listen(host, port)
    configure_process()
    judges = {name: load(name, eyes=eyes) for name in models}
    examples = [] if data is None else worlds.read(data, world_of_data(data, judges))
    address, bound = listener.getsockname()[:2]
    is_local = ipaddress.ip_address(address).is_loopback
    hosts = {"localhost", "127.0.0.1", "::1", host.lower(), *map(str.lower, allow_host or ())}
    if not is_local:
        output.say(f"warning: {host} can be reached from other machines, and there is no password")
    print(f"serving {', '.join(models)} at http://{f'[{address}]' if ':' in address else address}:{bound}", flush=True)
    run(make_app(judges, examples=examples, hosts=hosts if is_local or allow_host else None), listener)


def world_of_data(data: Path, judges: Mapping[str, Judge]) -> World:
    """Returns the world of a file's corpus if a model is of it; else the first model's, in which the file is read."""
    from veriscene import worlds

    known, own = [judge.world for judge in judges.values()], worlds.of_corpus(data)
    return own if own in known else known[0]


def site(
    folder: Annotated[Path, argument("A new folder.", metavar="OUT")],
    runtime: Annotated[
        Path | None, option("A folder with the files of onnxruntime-web; otherwise npm downloads them.")
    ] = None,
    code: Annotated[str | None, option("The repository that the page links to.", metavar="URL")] = None,
    url: Annotated[str | None, option("The page's own address: previews need it.", metavar="URL")] = None,
) -> None:
    """Write the page as static files: the model `best` runs in the browser, without a server.

    Example: veriscene site public
    """
    output.require_one_process("site")
    from veriscene.service.site import write_site

    size = write_site(folder, runtime=runtime, code=code, url=url, say=output.say)
    print(f"wrote {folder}; a first visit loads {size / 1e6:.1f} MB")
