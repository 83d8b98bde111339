"""A turn as JSON and back. Plain ASCII JSON, so that any string survives, lone surrogates included."""

import json
from typing import Any

from gateway.state import Entity, Turn


def _fields(value: Turn | Entity) -> dict[str, Any]:
    """As `asdict`, which copies whatever is in them."""
    return {name: getattr(value, name) for name in value.__slots__}


_ENCODER = json.JSONEncoder(separators=(",", ":"), default=_fields)


def encode_turn(turn: Turn) -> bytes:
    """The turn as UTF-8 JSON."""
    return _ENCODER.encode(turn).encode()


def decode_turn(encoded: bytes) -> Turn:
    """The turn that `encode_turn` was given. Raises `ValueError`, `TypeError` or `LookupError` for others."""
    fields: dict[str, Any] = json.loads(encoded)
    turn = Turn(**{**fields, "entity": _decode_entity(fields["entity"])})
    if not (isinstance(turn.question, str) and isinstance(turn.answer, str)):
        raise TypeError("a turn that is none of ours")
    return turn


def _decode_entity(fields: dict[str, Any] | None) -> Entity | None:
    if fields is None:
        return None
    attributes = tuple((key, value) for key, value in fields["attributes"])
    return Entity(**{**fields, "attributes": attributes})
