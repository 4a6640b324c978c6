"""The inverse of `veriscene.service.site.pack`, which the page has in JavaScript."""

from __future__ import annotations

import numpy as np


def unpacked(packed: bytes, segments: list[int | list[int]]) -> bytes:
    """Returns the safetensors file that packed weights stand for."""
    parts, at = [], 0
    for segment in segments:
        if isinstance(segment, int):
            parts.append(packed[at : at + segment])
            at += segment
            continue
        rows, columns = segment
        scales = np.frombuffer(packed, "<f4", rows, at)
        codes = np.frombuffer(packed, np.int8, rows * columns, at + 4 * rows).reshape(rows, columns)
        parts.append((codes * scales[:, None]).astype(np.float16).tobytes())
        at += rows * (4 + columns)
    return b"".join(parts)
