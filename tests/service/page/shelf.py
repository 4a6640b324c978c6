"""A service whose models judge shelves, in place of the real one. It checks every scene that the page sends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from http_service import tree_of

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

WORLD = tree_of("shelf")
STATEMENT = "There is a shelf with two bottles that are cheaper than 5 euros."


def product(kind: str, color: str, price: float, x: float, y: float = 28, offer: str = "no") -> dict[str, Any]:
    return {"x": x, "y": y, "kind": kind, "color": color, "price": price, "offer": offer}


SCENE = [
    [product("bottle", "green", 4, 2), product("bottle", "red", 12, 14.5, offer="yes"), product("can", "white", 1, 60)],
    [product("jar", "purple", 7, 30, 10), product("carton", "white", 2, 80, offer="yes")],
    [],
]
EDIT = {
    "kind": "change",
    "attribute": "price",
    "box": 0,
    "before": SCENE[0][1],
    "after": {**SCENE[0][1], "price": 3},
    "text": "set the price of the red bottle in shelf 1 to 3€",
}


def problem(scene: Sequence[Sequence[dict[str, Any]]]) -> str | None:
    """Returns what is wrong with a scene of shelves."""
    low, high = WORLD["boxes"]
    if not low <= len(scene) <= high:
        return f"{len(scene)} shelves"
    (width, height), (room_x, room_y) = WORLD["extent"], WORLD["canvas"]
    for box in scene:
        if len(box) > WORLD["items"][1]:
            return f"{len(box)} products"
        for at, item in enumerate(box):
            if item.keys() != product("can", "red", 1, 0).keys():
                return f"fields {', '.join(item)}"
            if not (0 <= item["x"] <= room_x - width and 0 <= item["y"] <= room_y - height):
                return f"outside: {item}"
            if not (1 <= item["price"] <= 20 and item["price"] == int(item["price"])):
                return f"price {item['price']}"
            for name in ("kind", "color", "offer"):
                if item[name] not in WORLD["attributes"][name]["values"]:
                    return f"{name} {item[name]}"
            for other in box[:at]:
                if abs(item["x"] - other["x"]) < width and abs(item["y"] - other["y"]) < height:
                    return f"overlap: {item}, {other}"
    return None


class ShelfService:
    """Answers the page's requests about shelves; others go to the real service.

    A scene is judged true if there is a product on offer. `scenes` are those that were sent.
    """

    def __init__(self, page: Page, *, is_default: bool) -> None:
        self.is_default = is_default
        self.scenes: list[Any] = []
        self.problems: list[str] = []
        page.route("**/api/**", self._answer)

    def _answer(self, route: Route) -> None:
        path = route.request.url.split("?")[0].rpartition("/api/")[2]
        if path == "models":
            mine = {"name": "products", "model": "quick", "dev_accuracy": 0.93, "world": "shelf", "default": True}
            if self.is_default:
                route.fulfill(json={"models": [mine, {**mine, "name": "other", "default": False}]})
            else:
                listed = route.fetch().json()["models"]
                route.fulfill(json={"models": [*listed, {**mine, "default": False}]})
            return
        body = route.request.post_data_json if route.request.method == "POST" else {}
        if not self.is_default and "products" not in (body.get("model", ""), route.request.url.rpartition("model=")[2]):
            route.continue_()
        elif path == "world":
            route.fulfill(json={**WORLD, "abilities": {"pictures": False}})
        elif path.startswith("scenes/"):
            statement = STATEMENT if path == "scenes/example" else None
            route.fulfill(json={"statement": statement, "scene": SCENE if statement else SCENE[:1], "label": None})
        else:
            route.fulfill(json=self._judge(path, body["statement"], body["scene"]))

    def _judge(self, path: str, statement: str, scene: list[Any]) -> dict[str, Any]:
        self.scenes.append(scene)
        found = problem(scene)
        if found:
            self.problems.append(found)
        is_true = any(item["offer"] == "yes" for box in scene for item in box)
        words = statement.split()
        verdict = {
            "probability": 0.9 if is_true else 0.2,
            "verdict": is_true,
            "per_box": [0.5 for _ in scene],
            "order": [sorted(range(len(box)), key=lambda at, box=box: box[at]["x"]) for box in scene],
            "unknown_words": {},
            "attention": {"words": words, "words_to_items": None, "items_to_words": None},
        }
        if path == "judge":
            return verdict
        known = scene == SCENE
        after = [[scene[0][0], EDIT["after"], *scene[0][2:]], *scene[1:]] if known else None
        flip = {"scene": after, "edits": [EDIT], "verdict": verdict, "text": EDIT["text"]} if known else None
        return {"verdict": verdict, "counterfactual": flip, "searched": {"judgements": 12, "complete": True}}
