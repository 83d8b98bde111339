"""Replies of model servers: entries in any order, and vectors of any length."""

import math
from typing import Any

import pytest

from chassis.http.remote import in_index_order, unit_vector


def test_entries_come_back_in_the_order_of_the_inputs() -> None:
    entries = [{"index": 1, "of": "b"}, {"index": 0, "of": "a"}]
    assert [entry["of"] for entry in in_index_order(entries, 2)] == ["a", "b"]
    assert in_index_order([], 0) == []


@pytest.mark.parametrize("indexes", [[0], [0, 1, 2], [0, 0], [1, 2], ["zero", 1], [None, 1]])
def test_entries_that_are_not_one_for_each_input_are_refused(indexes: list[Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        in_index_order([{"index": index} for index in indexes], 2)


def test_a_vector_is_brought_to_length_1() -> None:
    assert unit_vector([3, 4.0]).tolist() == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize(
    "values", [[], [0.0, 0.0], [1.0, math.nan], [1.0, None], ["much"], [True], [10**400], "not base64!", None]
)
def test_what_is_no_direction_is_refused(values: Any) -> None:
    with pytest.raises((ValueError, OverflowError)):
        unit_vector(values)
