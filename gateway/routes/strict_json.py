"""JSON without the leniencies of Python's reader: nothing said twice, no NaN, no endless numbers."""

import json
from typing import Any

from chassis.errors import MalformedRequest


def read_json(body: bytes | str) -> Any:
    """The value of a JSON text (RFC 8259). Raises `MalformedRequest`."""
    try:
        return json.loads(body, object_pairs_hook=_without_repeats, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:  # ValueError: bad JSON, bad UTF-8, numbers too long to read
        raise MalformedRequest("The body is not valid JSON.") from error


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise MalformedRequest("The body names a field twice.")
    return members


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")
