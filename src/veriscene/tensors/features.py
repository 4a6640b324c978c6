"""An item as nine numbers (appendix A.3.1): place, size, and one-hot shape and colour."""

from __future__ import annotations

from veriscene.scenes.scene import BOX_EXTENT, Color, Item, Shape, Size

ITEM_FEATURES = 9
_SHAPES = tuple(Shape)
_COLORS = tuple(Color)


def item_features(item: Item) -> tuple[float, ...]:
    """(x, y, size, shape x 3, colour x 3); x, y and size lie in [-1, 1]."""
    return (
        2 * item.x / BOX_EXTENT - 1,
        2 * item.y / BOX_EXTENT - 1,
        (item.size.value - Size.MEDIUM.value) / (Size.LARGE.value - Size.MEDIUM.value),
        *(float(item.shape is shape) for shape in _SHAPES),
        *(float(item.color is color) for color in _COLORS),
    )
