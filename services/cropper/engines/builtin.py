"""Proposes outlines of flat things and blocks of text with OpenCV alone.

It knows shapes only. A label makes regions of the kind and proportions that such things usually have
score higher, and is attached to them; nothing here has recognised anything.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from chassis.models.cancellation import require_caller, until_cancelled
from chassis.rgb import RGB
from services.cropper.engine import Corners, Cropper, FoundRegion, Kind, is_small, touches_edge
from services.cropper.engines.geometry import Quad, area, keep_apart, rectify, sort_corners
from services.cropper.engines.proposals import (
    View,
    contour_quads,
    line_quads,
    look,
    outline_scores,
    text_blocks,
)

LEAST_OUTLINE = 0.5
LEAST_TEXT = 0.3
TEXT_DISCOUNT = 0.8
MOST_OVERLAP = 0.6
SMALLEST_PHOTO = 16
MOST_OUTLINES = 80

Proposal = tuple[Kind, Quad, float]


class BuiltinCropper(Cropper):
    """`Cropper` without a network."""

    name = "opencv-proposals"

    def crop(self, photo: RGB, labels: Sequence[str], limit: int) -> list[FoundRegion]:
        """See the protocol. A photo narrower than 16 pixels has no regions."""
        if limit < 1 or min(photo.shape[:2]) < SMALLEST_PHOTO:
            return []
        view = look(photo)
        outlines = _outlines(view)
        require_caller()
        texts: list[Proposal] = [
            ("text", quad, TEXT_DISCOUNT * score) for quad, score in text_blocks(view) if score >= LEAST_TEXT
        ]
        proposals = [*outlines, *texts]
        rated = [_rate(proposal, labels) for proposal in proposals]
        quads = [quad for _, quad, _ in proposals]
        chosen = keep_apart(quads, [score for _, score in rated], MOST_OVERLAP, limit)
        return [
            _region(photo, proposals[place][0], rated[place], proposals[place][1] / view.scale)
            for place in until_cancelled(chosen)
        ]


def _outlines(view: View) -> list[Proposal]:
    quads = np.concatenate([contour_quads(view), line_quads(view)])
    scores = outline_scores(view, quads)
    best = np.argsort(-scores, kind="stable")[:MOST_OUTLINES]
    return [
        ("quadrilateral", sort_corners(quads[place]), float(scores[place]))
        for place in best
        if scores[place] >= LEAST_OUTLINE
    ]


def _rate(proposal: Proposal, labels: Sequence[str]) -> tuple[str | None, float]:
    kind, quad, score = proposal
    sides = np.linalg.norm(np.roll(quad, -1, axis=0) - quad, axis=1)
    shorter, longer = sorted((sides[0] + sides[2], sides[1] + sides[3]))
    label, factor = best_label(labels, kind, float(longer / max(shorter, 1e-6)))
    return label, score * factor


def _region(photo: RGB, kind: Kind, rated: tuple[str | None, float], quad: Quad) -> FoundRegion:
    height, width = photo.shape[:2]
    label, score = rated
    return FoundRegion(
        kind=kind,
        label=label,
        score=min(1.0, score),
        corners=_corners(np.clip(quad, 0, [width, height])),
        small=is_small(area(quad), photo),
        touches_edge=touches_edge(_corners(quad), photo),
        crop=rectify(photo, quad),
    )


def _corners(quad: Quad) -> Corners:
    first, second, third, fourth = ((float(x), float(y)) for x, y in quad)
    return (first, second, third, fourth)


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
    shapes = (_SHAPES.get(word.rstrip("s")) or _SHAPES.get(word) for word in label.lower().split())
    return next((shape for shape in shapes if shape is not None), _ANYTHING)


def _fit(shape: Shape, kind: Kind, proportion: float) -> float:
    fit = 1.0 if shape.kind == kind else MISMATCH
    return fit * (1.0 if proportion <= shape.longest else MISMATCH)
