"""Remove subnormal weights from models."""

from pathlib import Path

import numpy as np
import pytest
import rapidocr
from onnxruntime import InferenceSession

from services.ocr.engines.subnormal import without_subnormals
from tests.unit.services.ocr_pictures import page

FLOAT, INT64 = 1, 7
WEIGHTS = np.array([1e-40, -1e-40, 0.0, 1.2e-38, -3.5, np.inf], "<f4")


def field(number: int, value: bytes) -> bytes:
    return bytes([number << 3 | 2, len(value)]) + value


def model_of(data_type: int, raw: bytes) -> bytes:
    """An opset version, a graph with a name and one initializer."""
    tensor = bytes([1 << 3, 6, 2 << 3, data_type]) + field(8, b"w") + field(9, raw)
    graph = field(2, b"graph") + field(5, tensor)
    return bytes([1 << 3, 8]) + field(7, graph)


def test_only_weights_too_small_to_be_normal_become_zero() -> None:
    expected = np.array([0.0, 0.0, 0.0, 1.2e-38, -3.5, np.inf], "<f4")
    assert without_subnormals(model_of(FLOAT, WEIGHTS.tobytes())) == model_of(FLOAT, expected.tobytes())


def test_numbers_of_another_type_stay() -> None:
    model = model_of(INT64, np.array([1, 2, 3], "<i8").tobytes())
    assert without_subnormals(model) == model


@pytest.mark.parametrize("kept", [1, 3, 12, 30])
def test_a_model_that_is_cut_off_is_refused(kept: int) -> None:
    with pytest.raises(ValueError, match="protocol buffer"):
        without_subnormals(model_of(FLOAT, WEIGHTS.tobytes())[:kept])


def test_the_detector_finds_the_very_same_without_them() -> None:
    model = (Path(rapidocr.__file__).parent / "models" / "PP-OCRv6_det_small.onnx").read_bytes()
    lighter = without_subnormals(model)
    assert lighter != model  # else the package has changed, and this is no longer needed
    picture = page([(40, 40, "The Salt Harbour")], size=(320, 160))
    pixels = (picture.transpose(2, 0, 1)[None] / 127.5 - 1).astype(np.float32)
    found, as_before = (
        InferenceSession(each, providers=["CPUExecutionProvider"]).run(None, {"x": pixels})[0]
        for each in (lighter, model)
    )
    assert found.max() > 0.5
    assert np.array_equal(found, as_before)
