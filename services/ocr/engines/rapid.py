"""RapidOCR's three models (PP-OCR detection, turn classification, recognition), each callable alone.

RapidOCR's own call runs them in one go and forgets which way each line was turned; we need that for the
reading order. The models are those inside the wheel, named by path so that nothing is ever downloaded.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np
import rapidocr
from numpy.typing import NDArray
from omegaconf import OmegaConf
from onnxruntime import InferenceSession, SessionOptions
from rapidocr import RapidOCR
from rapidocr.ch_ppocr_cls import TextClassifier
from rapidocr.ch_ppocr_det import TextDetector
from rapidocr.ch_ppocr_rec import TextRecInput, TextRecognizer

BGR = NDArray[np.uint8]
Points = NDArray[np.float64]

_MODELS = {
    "Det": "PP-OCRv6_det_small.onnx",
    "Cls": "ch_ppocr_mobile_v2.0_cls_mobile.onnx",
    "Rec": "PP-OCRv6_rec_small.onnx",
}
_TALL = 1.5  # RapidOCR's own limit: a taller crop holds a line turned on its side


@dataclass(frozen=True, slots=True)
class Crop:
    """A line cut out and laid flat, `quarter_turns` counter-clockwise turns from how it lies in the photo."""

    pixels: BGR
    quarter_turns: int

    def turn(self, more: int) -> "Crop":
        """The same line after `more` further counter-clockwise quarter turns."""
        pixels = np.ascontiguousarray(np.rot90(self.pixels, more))
        return Crop(pixels, (self.quarter_turns + more) % 4)


class RapidModels:
    """One set of models; calls on one set must not overlap.

    `detection_side`: the photo is shrunk to this longer side (pixels) for detection only; lines are
    recognised from the photo's own pixels.
    """

    def __init__(self, detection_side: int, threads: int) -> None:
        folder = Path(rapidocr.__file__).parent / "models"
        parameters = {
            "Global.log_level": "error",
            "Det.limit_type": "max",
            "Det.limit_side_len": detection_side,
        }
        settings = OmegaConf.create(RapidOCR(params=parameters).cfg, flags={"allow_objects": True})
        for part, name in _MODELS.items():
            settings[part].session = _open(folder / name, threads)
        settings.Rec.font_path = None
        self._detector = TextDetector(settings.Det)
        self._classifier = TextClassifier(settings.Cls)
        self._recognizer = TextRecognizer(settings.Rec)

    def detect(self, photo: BGR) -> list[Points]:
        """Quadrilaterals (4, 2) of text lines, clockwise from the corner nearest the photo's top left."""
        boxes = self._detector(photo).boxes
        return [] if boxes is None else [np.asarray(box, dtype=np.float64) for box in boxes]

    def upside_down(self, crops: Sequence[Crop]) -> list[float]:
        """Probability for each crop that its text stands on its head."""
        if not crops:
            return []
        labels = self._classifier([crop.pixels for crop in crops]).cls_res or []
        return [float(score) if label == "180" else 1.0 - float(score) for label, score in labels]

    def recognize(self, crops: Sequence[Crop]) -> list[tuple[str, float]]:
        """Text and confidence of each crop."""
        if not crops:
            return []
        result = self._recognizer(TextRecInput(img=[crop.pixels for crop in crops]))
        return [
            (str(text).strip(), float(score))
            for text, score in zip(result.txts or (), result.scores, strict=True)
        ]


def _open(model: Path, threads: int) -> InferenceSession:
    options = SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.enable_cpu_mem_arena = False  # it would keep what the largest photo needed
    return InferenceSession(
        without_subnormals(model.read_bytes()), options, providers=["CPUExecutionProvider"]
    )


def cut_line(photo: BGR, corners: Points) -> Crop:
    """Lay a detected line flat; one that is taller than wide is laid on its side."""
    width = max(1, round(max(_distance(corners, 0, 1), _distance(corners, 2, 3))))
    height = max(1, round(max(_distance(corners, 0, 3), _distance(corners, 1, 2))))
    target = np.array([[0, 0], [width, 0], [width, height], [0, height]], dtype=np.float32)
    transform = cv2.getPerspectiveTransform(corners.astype(np.float32), target)
    flat = cv2.warpPerspective(
        photo, transform, (width, height), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE
    )
    crop = Crop(np.asarray(flat, dtype=np.uint8), 0)
    return crop.turn(1) if height >= _TALL * width else crop


def _distance(corners: Points, one: int, other: int) -> float:
    return float(np.linalg.norm(corners[one] - corners[other]))


_GRAPH, _INITIALIZER = 7, 5  # of ModelProto, of GraphProto
_DATA_TYPE, _RAW_DATA = 2, 9  # of TensorProto
_FLOAT = 1
_VARINT = 0
_FIXED = {1: 8, 5: 4}
"""Sizes of the kinds of values that do not name their own."""

Field = tuple[int, int | memoryview]


def without_subnormals(model: bytes) -> bytes:
    """Return the model with zeros in place of float32 weights below the least normal number.

    A weight below 1.2e-38 says nothing, but on many processors each product with one takes over a hundred
    cycles: two layers of the text detector, most of whose weights have decayed so far, took three quarters
    of its time. The flag with which onnxruntime flushes such numbers (`session.set_denormal_as_zero`) acts on
    the first session of a process and on the thread that made it, so it would hang on who starts first.
    Hence zeros in the file's bytes (protocol buffers' wire format:
    https://protobuf.dev/programming-guides/encoding/, fields as in onnx.proto).
    """
    whole = memoryview(bytearray(model))
    for graph in _parts(whole, _GRAPH):
        for tensor in _parts(graph, _INITIALIZER):
            fields = dict(_fields(tensor))
            raw = fields.get(_RAW_DATA)
            if fields.get(_DATA_TYPE) == _FLOAT and isinstance(raw, memoryview):
                weights = np.frombuffer(raw, "<f4")
                weights[np.abs(weights) < np.finfo(np.float32).tiny] = 0
    return bytes(whole)


def _parts(message: memoryview, number: int) -> Iterator[memoryview]:
    """The messages under a field's number."""
    for field, value in _fields(message):
        if field == number and isinstance(value, memoryview):
            yield value


def _fields(message: memoryview) -> Iterator[Field]:
    """Numbers and values of a message's fields; what lies within lengths is a view, so it can be written."""
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value, place = _varint(message, place)
            yield number, value
            continue
        size = _FIXED.get(kind)
        if size is None:
            size, place = _varint(message, place)
        yield number, message[place : place + size]
        place += size


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    """The number there, and the place after it."""
    number = shift = 0
    while True:
        byte = message[place]
        number |= (byte & 0x7F) << shift
        shift, place = shift + 7, place + 1
        if byte < 0x80:
            return number, place
