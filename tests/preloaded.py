"""Runs commands of an environment without importing torch each time, which takes longer than most of them run.

    python -I preloaded.py FOLDER

imports large packages, but nothing of veriscene, puts the commands `veriscene` and `python` into the folder, and
forks for each call of one: with its arguments, its folder and its streams. It ends when standard input is closed.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import select
import socket
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType

PACKAGES = (  # none of which starts a thread: a fork would wait for it at its end (onnxruntime does)
    *("accelerate", "matplotlib.pyplot", "onnxscript", "rich.progress", "sklearn.linear_model"),
    *("torch._dynamo", "torch.onnx", "torch.utils.tensorboard", "typer"),
)
CLIENT = """#!{python} -IS
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    socket.send_fds(server, [json.dumps([os.getcwd(), *sys.argv]).encode()], [0, 1, 2])
    sys.exit(int(server.recv(8) or 1))
"""


def main(folder: Path) -> None:
    for package in PACKAGES:
        with suppress(ImportError):
            importlib.import_module(package)
    gc.freeze()
    request, status = next_request(folder), 0
    try:
        run(*request)
    except SystemExit as end:
        status = int(end.code or 0)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(status)  # taking all those packages down takes long, too


def run(cwd: str, program: str, *arguments: str) -> None:
    os.chdir(cwd)
    if Path(program).name == "veriscene":
        from veriscene.cli import main

        sys.argv = ["veriscene", *arguments]
        main()
    else:
        is_code, sys.path = arguments[0] == "-c", ["", *sys.path]
        code = arguments[1] if is_code else Path(arguments[0]).read_text(encoding="utf-8")
        sys.argv = ["-c"] if is_code else list(arguments)
        sys.modules["__main__"] = module = ModuleType("__main__")
        if not is_code:
            module.__file__ = arguments[0]
        exec(code, vars(module))


def next_request(folder: Path) -> list[str]:
    """Waits for requests. Returns each in a process of its own, which has the streams of the one that asked."""
    address = str(folder / "server")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        for name in ("veriscene", "python"):
            (folder / name).write_text(CLIENT.format(python=sys.executable, address=address))
            (folder / name).chmod(0o755)
        print("ready", flush=True)
        while True:
            if sys.stdin in select.select([server, sys.stdin], [], [])[0]:
                os._exit(0)
            client, _ = server.accept()
            request, streams, _, _ = socket.recv_fds(client, 1 << 20, 3)
            if os.fork() == 0:
                command = os.fork()
                if command == 0:
                    client.close()
                    for number, stream in enumerate(streams):
                        os.dup2(stream, number)
                        os.close(stream)
                    return list(json.loads(request))
                status = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
                client.sendall(str(status % 256).encode())
                os._exit(0)
            for stream in streams:
                os.close(stream)
            client.close()
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


if __name__ == "__main__":
    main(Path(sys.argv[1]))
