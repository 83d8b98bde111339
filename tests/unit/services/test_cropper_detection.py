"""Select and label detected boxes; no model needed."""

import numpy as np
import pytest

from services.cropper.detection import Detection, Phrase, clipped, label_of, overlaps, without_doubles

CAR, RED_CAR = Phrase("car", 1, 3), Phrase("red car", 3, 6)


def scores(*values: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.array(values, np.float32)


@pytest.mark.parametrize(
    ("values", "label"),
    [
        (scores(0, 0.6, 0, 0.1, 0.5, 0, 0), "car"),
        (scores(0, 0.5, 0, 0.1, 0.6, 0, 0), "red car"),
        (scores(0, 0.5, 0.1, 0.5, 0.5, 0.5, 0), "red car"),
        (scores(0, 0.5, 0.4, 0.1, 0.5, 0.1, 0), "car"),
        (scores(0.9, 0.2, 0, 0.3, 0.1, 0, 0.9), None),
    ],
)
def test_a_box_is_called_by_the_label_with_the_strongest_word(
    values: np.ndarray[tuple[int], np.dtype[np.float32]], label: str | None
) -> None:
    assert label_of(values, [CAR, RED_CAR], 0.3) == label


def test_near_doubles_leave_the_surest_and_neighbours_stay() -> None:
    boxes = [(0, 0, 100, 100), (2, 0, 100, 100), (40, 0, 140, 100), (20, 20, 60, 60)]
    ranked = [0.5, 0.9, 0.4, 0.3]
    found = [Detection(box, str(place), ranked[place]) for place, box in enumerate(boxes)]
    assert [each.label for each in without_doubles(found, 0.8)] == ["1", "2", "3"]
    assert without_doubles([], 0.8) == []


def test_boxes_without_area_overlap_nothing() -> None:
    flat = np.array([[5, 5, 5, 9], [0, 0, 10, 10]], np.float64)
    assert overlaps(flat[0], flat).tolist() == [0, 0]
    assert overlaps(flat[1], flat).tolist() == [0, 1]


def test_boxes_are_clipped_to_the_photo() -> None:
    corners = np.array([[-0.5, 0.25, 1.5, 0.75]], np.float32)
    assert clipped(corners, 400, 200).tolist() == [[0, 50, 400, 150]]
