"""Finds what the caller names, with Grounding DINO (QA-Dragon, section 3.4.2)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image

from chassis.rgb import RGB
from services.cropper.engine import LONGEST_SIDE, Corners, Cropper, FoundRegion, is_small, touches_edge
from services.cropper.engines.detection import Detection, Prompt, clip, label_of, without_doubles
from services.cropper.engines.detector import Boxes, GroundingDinoDetector, Sight

SMALLEST_PHOTO = 16
SMALLEST_SIDE = 4.0
"""Pixels; a box with a shorter side shows nothing."""

Forward = Callable[[Sequence[Sight]], Sequence[Boxes]]


@dataclass(frozen=True, slots=True)
class DetectionOptions:
    """QA-Dragon's thresholds and group size; `most_overlap`: boxes of several labels that are one thing."""

    group_size: int = 6
    box_threshold: float = 0.4
    text_threshold: float = 0.3
    most_overlap: float = 0.8


class GroundingDinoCropper(Cropper):
    """`Cropper` that knows things by name. Without a label it finds nothing: callers keep the full photo."""

    name = "grounding-dino"

    def __init__(
        self,
        detector: GroundingDinoDetector,
        forward: Forward | None = None,
        options: DetectionOptions | None = None,
    ) -> None:
        """`forward` is the detector's own, or one that shares its passes with other calls."""
        self._detector = detector
        self._forward = forward or detector.forward
        self._options = options or DetectionOptions()

    def crop(self, photo: RGB, labels: Sequence[str], limit: int) -> list[FoundRegion]:
        """See the protocol. Several things of one label are several regions.

        Regions that are small or that the frame may have cut come after all others: the paper's code drops
        them, but a poor crop is better than none.
        """
        prompts = self._detector.prompts.write(labels, self._options.group_size)
        if limit < 1 or not prompts or min(photo.shape[:2]) < SMALLEST_PHOTO:
            return []
        pixels = self._detector.prepare(photo)
        boxes_of_prompts = self._forward([Sight(pixels, prompt.token_ids) for prompt in prompts])
        detections = [
            detection
            for prompt, boxes in zip(prompts, boxes_of_prompts, strict=True)
            for detection in self._detections(prompt, boxes, photo)
        ]
        apart = without_doubles(detections, self._options.most_overlap)
        ranked = sorted(  # stable: by score within
            apart, key=lambda each: is_small(each.area, photo) or touches_edge(_corners(each), photo)
        )
        return [_region(each, photo) for each in ranked[:limit]]

    def _detections(self, prompt: Prompt, boxes: Boxes, photo: RGB) -> Iterator[Detection]:
        height, width = photo.shape[:2]
        corners = clip(boxes.corners, width, height)
        scores = boxes.scores.max(axis=1)
        sides = (corners[:, 2:] - corners[:, :2]).min(axis=1)
        for place in np.flatnonzero((scores > self._options.box_threshold) & (sides >= SMALLEST_SIDE)):
            left, top, right, bottom = corners[place].tolist()
            label = label_of(boxes.scores[place], prompt.phrases, self._options.text_threshold)
            yield Detection((left, top, right, bottom), label, float(scores[place]))


def _corners(detection: Detection) -> Corners:
    left, top, right, bottom = detection.box
    return ((left, top), (right, top), (right, bottom), (left, bottom))


def _region(detection: Detection, photo: RGB) -> FoundRegion:
    return FoundRegion(
        kind="detection",
        label=detection.label,
        score=detection.score,
        corners=_corners(detection),
        small=is_small(detection.area, photo),
        touches_edge=touches_edge(_corners(detection), photo),
        crop=_cut_out(detection, photo),
    )


def _cut_out(detection: Detection, photo: RGB) -> RGB:
    left, top = (int(np.floor(edge)) for edge in detection.box[:2])
    right, bottom = (int(np.ceil(edge)) for edge in detection.box[2:])
    piece = Image.fromarray(photo[top:bottom, left:right])
    piece.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.BILINEAR, reducing_gap=2.0)
    return np.asarray(piece, np.uint8)
