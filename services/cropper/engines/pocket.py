"""Proposes outlines of flat things and blocks of text with OpenCV alone."""

from collections.abc import Sequence

import numpy as np

from chassis.models.wanted import require_caller, while_wanted
from services.cropper.engine import RGB, Corners, FoundRegion, Kind
from services.cropper.framing import is_small, touches_edge
from services.cropper.proposals.edges import View, look
from services.cropper.proposals.geometry import Quad, area, keep_apart, ordered
from services.cropper.proposals.labels import best_label
from services.cropper.proposals.quadrilaterals import contour_quads, line_quads
from services.cropper.proposals.rectification import rectified
from services.cropper.proposals.scoring import outline_scores
from services.cropper.proposals.text import text_blocks

LEAST_OUTLINE = 0.5
LEAST_TEXT = 0.3
TEXT_DISCOUNT = 0.8
MOST_OVERLAP = 0.6
SMALLEST_PHOTO = 16
MOST_OUTLINES = 80

Proposal = tuple[Kind, Quad, float]


class PocketCropper:
    """`Cropper` without a network."""

    name = "opencv-proposals"

    def crop(self, photo: RGB, labels: Sequence[str], limit: int) -> list[FoundRegion]:
        """See the protocol. A photo narrower than 16 pixels has no regions."""
        if limit < 1 or min(photo.shape[:2]) < SMALLEST_PHOTO:
            return []
        view = look(photo)
        outlines = _outlines(view)
        require_caller()
        proposals = [*outlines, *_texts(view)]
        rated = [_rate(proposal, labels) for proposal in proposals]
        quads = [quad for _, quad, _ in proposals]
        chosen = keep_apart(quads, [score for _, score in rated], MOST_OVERLAP, limit)
        return [
            _region(photo, proposals[place][0], rated[place], proposals[place][1] / view.scale)
            for place in while_wanted(chosen)
        ]


def _outlines(view: View) -> list[Proposal]:
    quads = np.concatenate([contour_quads(view), line_quads(view)])
    scores = outline_scores(view, quads)
    best = np.argsort(-scores, kind="stable")[:MOST_OUTLINES]
    return [
        ("quadrilateral", ordered(quads[place]), float(scores[place]))
        for place in best
        if scores[place] >= LEAST_OUTLINE
    ]


def _texts(view: View) -> list[Proposal]:
    return [("text", quad, TEXT_DISCOUNT * score) for quad, score in text_blocks(view) if score >= LEAST_TEXT]


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
        crop=rectified(photo, quad),
    )


def _corners(quad: Quad) -> Corners:
    first, second, third, fourth = ((float(x), float(y)) for x, y in quad)
    return (first, second, third, fourth)
