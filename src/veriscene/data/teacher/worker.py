"""A process that makes blocks of examples: reads requests from standard input, writes answers to standard output.

It ends when its input is closed, so it never outlives the process that started it.
"""

from __future__ import annotations

import os
import pickle
import sys
import traceback

from veriscene.errors import InputError


def main() -> None:
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    sys.stdout = sys.stderr  # what a library prints must not end up among the answers
    try:
        maker = pickle.load(requests)
        while True:
            epoch, block = pickle.load(requests)
            try:
                answer = maker.make(epoch, block)
            except InputError as error:
                answer = error
            except Exception as error:
                place = traceback.extract_tb(error.__traceback__)[-1]
                what = f"{type(error).__name__} {str(error)!r:.200} at {place.filename}:{place.lineno}"
                answer = InputError(f"a teacher's process failed: {what}")
            pickle.dump(answer, answers, protocol=5)
            answers.flush()
    except (EOFError, BrokenPipeError):
        os._exit(0)


if __name__ == "__main__":
    main()
