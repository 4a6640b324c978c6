"""Figures as part of a page: many SVG files in one HTML document."""

from __future__ import annotations

from xml.etree import ElementTree

_DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
# What matplotlib asks for in a style sheet, which would hold for the whole page.
_LINES = "stroke-linejoin:round;stroke-linecap:butt"
# The axes fill the figure, so that clipping at their border does nothing.
_DROPPED_ELEMENTS = {"metadata", "style", "title", "clipPath"}
_DROPPED_ATTRIBUTES = {"clip-path", "version"}


def inlined(svg: str, *, name: str) -> str:
    """A figure's SVG file as an element of a page: it fills its place, is read out with its title and statements, and
    its ids, of which only those in use are kept, start with `name`."""
    root = ElementTree.fromstring(svg)
    told = (root.find(f".//{_DUBLIN_CORE}{part}") for part in ("title", "description"))
    label = ". ".join(" ".join((each.text or "").split()) for each in told if each is not None)
    used = {value[1:] for each in root.iter() for key, value in each.items() if _local(key) == "href"}
    for element in list(root.iter()):
        for child in [child for child in element if _local(child.tag) in _DROPPED_ELEMENTS]:
            element.remove(child)
        attributes = {_local(key): " ".join(value.split()) for key, value in element.items()}
        if attributes.get("id") not in used:
            attributes.pop("id", None)
        if "id" in attributes:
            attributes["id"] = f"{name}-{attributes['id']}"
        if "href" in attributes:
            attributes["href"] = f"#{name}-{attributes['href'][1:]}"
        element.tag = _local(element.tag)
        element.attrib.clear()
        element.attrib.update({key: value for key, value in attributes.items() if key not in _DROPPED_ATTRIBUTES})
        element.text = element.tail = None
    for key in ("width", "height"):
        del root.attrib[key]
    root.attrib.update({"role": "img", "aria-label": label, "style": _LINES})
    return ElementTree.tostring(root, encoding="unicode")


def _local(name: str) -> str:
    """Without its namespace."""
    return name.rpartition("}")[2]
