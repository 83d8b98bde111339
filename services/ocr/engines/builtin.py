"""RapidOCR with reading order, any of four photo orientations, and dim photos brightened."""

import queue
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import cv2
import numpy as np

from chassis.rgb import RGB
from services.ocr.engine import OcrEngine, Page, Progress, Quadrilateral, RecognizedLine
from services.ocr.engines.layout import batches, most_useful, reading_order
from services.ocr.engines.rapid import BGR, Crop, Points, RapidModels, cut_line

_DOUBTFUL = 0.8  # lines read with less confidence are tried in the orientation of the others too
_MAJORITY = 0.6
_LEAST_SCORE = 0.5  # lines read with less confidence are dropped
_MOST_LINES = 200  # that are read of a photo: see `most_useful`
_MOST_TEXT_WIDTH = 64_000  # pixels of all lines together, side by side at a height of 48
_SMALL_PRINT = 24.0
"""Pixels, as searched, that a line's box is high (twice its print); near smaller ones others are missed."""
_WORTHWHILE = 1.25
"""Enlargement from which a second pass on a crop is worth its time."""
_DIM = 40.0  # mean luminance (0..255) below which text detection starts to lose lines
_TARGET = 110.0
_STRONGEST_GAMMA = 0.35
_MARGIN = 0.03
"""Of the photo's longer side, around the lines that were found: there may be more of them."""


@dataclass(frozen=True, slots=True)
class _Reading:
    text: str
    score: float
    turns: int
    corners: Points

    @property
    def weight(self) -> float:
        return len(self.text) * self.score


class BuiltinOcr(OcrEngine):
    """Holds one set of models per worker, so that `workers` photos are read at once."""

    name = "rapidocr"

    def __init__(self, detection_side: int = 864, threads: int = 1, workers: int = 1) -> None:
        """`detection_side`: longer side in pixels at which lines are searched. `threads`: of each worker."""
        self._detection_side = detection_side
        self._idle: queue.SimpleQueue[RapidModels] = queue.SimpleQueue()
        for _ in range(workers):
            self._idle.put(RapidModels(detection_side, threads))

    def read(self, image: RGB, progress: Progress | None = None) -> Page:
        photo = brighten(np.ascontiguousarray(cv2.cvtColor(image, cv2.COLOR_RGB2BGR), dtype=np.uint8))
        with self._models() as models:
            readings, left_out = self._readings(models, photo, progress or Progress())
        legible = [reading for reading in readings if reading.text and reading.score >= _LEAST_SCORE]
        corners = [reading.corners for reading in legible]
        turns = _dominant_turns(legible)
        order = reading_order(corners, [reading.text for reading in legible], turns or 0)
        lines = tuple(
            RecognizedLine(legible[i].text, min(1.0, legible[i].score), _quadrilateral(corners[i]))
            for i in order
        )
        return Page(lines, left_out)

    @contextmanager
    def _models(self) -> Iterator[RapidModels]:
        models = self._idle.get()
        try:
            yield models
        finally:
            self._idle.put(models)

    def _find_lines(self, models: RapidModels, photo: BGR, progress: Progress) -> list[Points]:
        """Where the lines are; small print in part of the photo is searched there once more, from nearer."""
        boxes = progress.piece("boxes", lambda: models.detect(photo))
        region = _small_print(boxes, photo, self._detection_side)
        if region is None:
            return boxes
        left, top, right, bottom = region
        part = np.ascontiguousarray(photo[top:bottom, left:right])
        nearer = progress.piece("nearer", lambda: models.detect(part))
        return [box + np.array((left, top)) for box in nearer] if len(nearer) >= len(boxes) else boxes

    def _readings(self, models: RapidModels, photo: BGR, progress: Progress) -> tuple[list[_Reading], int]:
        lines = self._find_lines(models, photo, progress)
        boxes, left_out = most_useful(lines, photo.shape[:2], _MOST_LINES, _MOST_TEXT_WIDTH)
        crops = [cut_line(photo, box) for box in boxes]
        flipped = progress.piece("flipped", lambda: models.upside_down(crops))
        crops = [crop.turn(2) if p > 0.9 else crop for crop, p in zip(crops, flipped, strict=True)]
        readings = _read_all(models, crops, boxes, progress)
        turns = _dominant_turns(readings)
        if turns is not None:
            readings = _reread_doubtful(models, readings, crops, turns, progress)
        return readings, left_out


def brighten(photo: BGR) -> BGR:
    """The photo itself, or a gamma-corrected, slightly smoothed one when it is dim. (height, width, 3).

    Smoothing undoes the sensor noise that the correction blows up.
    """
    mean = float(cv2.cvtColor(photo, cv2.COLOR_BGR2GRAY).mean())
    if mean >= _DIM:
        return photo
    gamma = np.log(_TARGET / 255.0) / np.log(max(mean, 1.0) / 255.0)
    exponent = max(_STRONGEST_GAMMA, float(gamma))
    table = (255.0 * (np.arange(256) / 255.0) ** exponent).round().astype(np.uint8)
    return np.asarray(cv2.GaussianBlur(cv2.LUT(photo, table), (3, 3), 0), dtype=np.uint8)


def _small_print(
    boxes: Sequence[Points], photo: BGR, detection_side: int
) -> tuple[int, int, int, int] | None:
    """Left, top, right and bottom of the lines, where most are small and a search there alone enlarges."""
    if not boxes:
        return None
    longer = max(photo.shape[:2])
    shrunk = min(1.0, detection_side / longer)
    heights = [min(np.linalg.norm(box[0] - box[3]), np.linalg.norm(box[0] - box[1])) for box in boxes]
    margin = _MARGIN * longer
    low = np.maximum(np.min(boxes, axis=(0, 1)) - margin, 0)
    high = np.minimum(np.max(boxes, axis=(0, 1)) + margin, photo.shape[1::-1])
    nearer = min(1.0, detection_side / max(high - low)) / shrunk
    if nearer < _WORTHWHILE or np.median(heights) * shrunk > _SMALL_PRINT:
        return None
    return int(low[0]), int(low[1]), int(high[0]), int(high[1])


def _read_all(
    models: RapidModels,
    crops: Sequence[Crop],
    boxes: Sequence[Points],
    progress: Progress,
    again: bool = False,
) -> list[_Reading]:
    """`again`: these are other crops of lines that were read before."""
    texts: dict[int, tuple[str, float]] = {}
    for places in batches([crop.pixels.shape[:2] for crop in crops]):
        batch = [crops[place] for place in places]
        texts |= zip(places, progress.piece((again, places), partial(models.recognize, batch)), strict=True)
    return [
        _Reading(*texts[place], crop.quarter_turns, np.roll(box, -crop.quarter_turns, axis=0))
        for place, (crop, box) in enumerate(zip(crops, boxes, strict=True))
    ]


def _dominant_turns(readings: Sequence[_Reading]) -> int | None:
    """The orientation that most of the text shares, in clockwise quarter turns; None when it is mixed."""
    weights: dict[int, float] = defaultdict(float)
    for reading in readings:
        weights[reading.turns] += reading.weight
    if not weights:
        return None
    turns = max(weights, key=lambda turn: weights[turn])
    return turns if weights[turns] >= _MAJORITY * sum(weights.values()) else None


def _reread_doubtful(
    models: RapidModels,
    readings: Sequence[_Reading],
    crops: Sequence[Crop],
    turns: int,
    progress: Progress,
) -> list[_Reading]:
    """A short line may be misjudged alone (a single "1" looks like a line on its side)."""
    doubtful = [
        i for i, reading in enumerate(readings) if reading.turns != turns and reading.score < _DOUBTFUL
    ]
    again = [crops[i].turn((turns - crops[i].quarter_turns) % 4) for i in doubtful]
    boxes = [np.roll(readings[i].corners, readings[i].turns, axis=0) for i in doubtful]
    better = list(readings)
    for i, reading in zip(doubtful, _read_all(models, again, boxes, progress, again=True), strict=True):
        if reading.text and reading.score > better[i].score:
            better[i] = reading
    return better


def _quadrilateral(corners: Points) -> Quadrilateral:
    first, second, third, fourth = ((float(x), float(y)) for x, y in corners)
    return first, second, third, fourth
