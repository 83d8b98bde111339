"""Read the replies of ready-made model servers."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


def in_index_order(entries: Any, count: int) -> list[Any]:
    """Return the entries of a reply by their `index`: servers send them in any order.

    Raises `KeyError`, `TypeError` or `ValueError` if they are not one for each of `count` inputs.
    """
    ordered = sorted(entries, key=lambda entry: int(entry["index"]))
    if [entry["index"] for entry in ordered] != list(range(count)):
        raise ValueError("not one entry for each input")
    return ordered


def unit_vector(values: Any) -> NDArray[np.float32]:
    """Return a list of numbers scaled to length 1. Raises `ValueError` for anything else, and for zeros."""
    if not isinstance(values, list) or not all(type(value) in (int, float) for value in values):
        raise ValueError("not a list of numbers")
    length = math.hypot(*values)
    if not 0 < length < math.inf:
        raise ValueError("no direction")
    return np.asarray(np.asarray(values, np.float64) / length, np.float32)
