"""What labels can mean to an engine that knows shapes only.

A label is a wish. It makes regions of the kind and proportions that such things usually have score
higher, and is attached to them; nothing here has recognised anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from services.cropper.engine import Kind


@dataclass(frozen=True, slots=True)
class Shape:
    """Usual proportions (longer over shorter side) and the kind of region."""

    kind: Kind
    longest: float = 2.2


_PAPER = Shape("quadrilateral", 1.9)
_PLATE = Shape("quadrilateral", 4.0)
_WRITING = Shape("text", 8.0)
_SHAPES = {
    **dict.fromkeys(("book", "magazine", "menu", "poster", "page", "worksheet", "card", "document"), _PAPER),
    **dict.fromkeys(("painting", "picture", "photo", "box", "package", "packet", "carton"), _PAPER),
    **dict.fromkeys(
        ("phone", "screen", "tablet", "laptop", "monitor", "television"), Shape("quadrilateral", 2.4)
    ),
    **dict.fromkeys(("sign", "plaque", "board", "banner", "plate", "street"), _PLATE),
    **dict.fromkeys(("text", "label", "title", "price", "name", "words", "writing", "letters"), _WRITING),
}
_ANYTHING = Shape("quadrilateral", 8.0)
MISMATCH = 0.5


def best_label(labels: Sequence[str], kind: Kind, proportion: float) -> tuple[str | None, float]:
    """The label whose usual shape this is, and the factor for the region's score."""
    if not labels:
        return None, 1.0
    rated = [(_fit(_shape(label), kind, proportion), -place) for place, label in enumerate(labels)]
    factor, place = max(rated)
    return labels[-place], factor


def _shape(label: str) -> Shape:
    known = (_SHAPES.get(word.rstrip("s")) or _SHAPES.get(word) for word in label.lower().split())
    return next((shape for shape in known if shape is not None), _ANYTHING)


def _fit(shape: Shape, kind: Kind, proportion: float) -> float:
    fit = 1.0 if shape.kind == kind else MISMATCH
    return fit * (1.0 if proportion <= shape.longest else MISMATCH)
