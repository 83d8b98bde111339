"""Which of the model's boxes become regions, and what they are called."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from services.cropper.detection.prompts import Phrase

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Detection:
    """A box in pixels of the photo, left, top, right, bottom, inside the photo."""

    box: tuple[float, float, float, float]
    label: str | None
    score: float

    @property
    def area(self) -> float:
        """Square pixels."""
        left, top, right, bottom = self.box
        return (right - left) * (bottom - top)


def clipped(corners: Floats, width: int, height: int) -> Floats:
    """(n, 4) fractions of the photo as pixels inside of it."""
    size = np.array([width, height, width, height], np.float32)
    inside: Floats = np.clip(corners * size, 0, size)
    return inside


def label_of(scores: Floats, phrases: Sequence[Phrase], text_threshold: float) -> str | None:
    """The label whose tokens the box answers to most strongly; None when none passes the threshold.

    `scores` (tokens,). Of labels that share their strongest word ("red car", "car": equal scores do happen,
    a word's scores depend little on its phrase), the one with the larger part of its tokens above the
    threshold is the better match.
    """
    best = (0.0, 0.0)
    chosen: str | None = None
    for phrase in phrases:
        own = scores[phrase.start : phrase.end]
        above = own > text_threshold
        match = (float(own.max()), float(above.mean()))
        if above.any() and match > best:
            best, chosen = match, phrase.label
    return chosen


def without_doubles(detections: Sequence[Detection], most_overlap: float) -> list[Detection]:
    """By falling score, without boxes that overlap a better one by `most_overlap` or more.

    Within one prompt the model needs no suppression: its queries were trained to match one thing each. But
    labels are asked in several prompts, and "car" and "vehicle" then box the same thing twice. The limit is
    high so that things that stand close together, or one inside the other, stay apart.
    """
    ranked = sorted(detections, key=lambda each: -each.score)
    boxes = np.array([each.box for each in ranked], np.float64).reshape(-1, 4)
    alive = np.ones(len(ranked), bool)
    kept: list[Detection] = []
    for place, detection in enumerate(ranked):
        if not alive[place]:
            continue
        kept.append(detection)
        alive &= overlaps(boxes[place], boxes) < most_overlap
    return kept


def overlaps(box: npt.NDArray[np.float64], boxes: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """(n,) intersection over union of one box with (n, 4); boxes without area overlap nothing."""
    shared = np.minimum(box[2:], boxes[:, 2:]) - np.maximum(box[:2], boxes[:, :2])
    common = np.clip(shared, 0, None).prod(axis=1)
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)
    union = areas + (box[2:] - box[:2]).prod() - common
    ratio: npt.NDArray[np.float64] = np.divide(common, union, out=np.zeros_like(common), where=union > 0)
    return ratio
