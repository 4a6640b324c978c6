"""What all pages share: the frame of a document, and tables of facts."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from veriscene.report.style import STYLE


def document(title: str, body: str, *, style: str = "") -> str:
    """A page that loads nothing, as HTML that is also well-formed XML if `body` is; `style` adds rules of its own."""
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"/><meta name="viewport" content="width=device-width,initial-scale=1"/>
<title>{escape(title)}</title><style>{STYLE}{style}</style></head><body><main>{body}</main></body></html>
"""


def facts(rows: Iterable[tuple[str, object]]) -> str:
    """Names and values as a table, which small screens show as a list."""
    cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(str(value))}</td></tr>" for name, value in rows)
    return f'<div class="wide"><table class="facts">{cells}</table></div>'
