"""A turn as JSON and back. Plain ASCII JSON, so that any string survives, lone surrogates included."""

import json
from dataclasses import asdict
from typing import Any

from gateway.state import Entity, Turn


def encode_turn(turn: Turn) -> bytes:
    """The turn as UTF-8 JSON."""
    return json.dumps(asdict(turn), ensure_ascii=True, separators=(",", ":")).encode()


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
