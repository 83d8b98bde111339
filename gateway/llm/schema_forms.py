"""The two reply forms, the JSON schema of a class, and a strict reader of the JSON that comes back."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from pydantic import BaseModel
from pydantic_core import from_json


class SchemaForm(StrEnum):
    """How a server is told what to write."""

    SCHEMA = "json_schema"
    """Guided decoding, without lengths and ranges: some grammars refuse them, others cut sentences there."""
    WORDS = "words"
    """Labelled lines; nothing is enforced."""

    @property
    def has_grammar(self) -> bool:
        """Whether the server can write nothing but the object."""
        return self is SchemaForm.SCHEMA


_DECODER = json.JSONDecoder(strict=False)  # grammars let control characters into strings
_SPACE = re.compile(r"\s*")
_THOUGHT_END = "</think>"


@dataclass(frozen=True, slots=True)
class ReplyFields:
    """The fields of a reply. `spans`: (start, end) of each value in the text, a string's without its quotes
    unless it is empty. `complete`: the reply ended inside no field.
    """

    value: Mapping[str, Any]
    spans: Mapping[str, tuple[int, int]]
    complete: bool


def read_object(text: str) -> ReplyFields | None:
    """Return the JSON object that `text` begins with, after any thoughts; None if it begins with none.

    Of an object that was cut off, the fields so far; the last of them may be incomplete.
    """
    start = 0 if text.lstrip().startswith("{") else text.rfind(_THOUGHT_END) + len(_THOUGHT_END)
    start = _past_space(text, start if start >= len(_THOUGHT_END) else 0)
    if not text.startswith("{", start):
        return None
    complete = True
    try:
        value, _ = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        complete = False
        value = _cut_off(text[start:])
    return ReplyFields(value, _field_spans(text, start), complete) if value else None


def _cut_off(text: str) -> dict[str, Any] | None:
    """The beginning of an object; None if anything but its end is wrong with it."""
    try:
        from_json(text)
    except ValueError as error:
        is_begun = "EOF" in str(error)
    else:
        return None
    if not is_begun:
        return None
    value: dict[str, Any] = from_json(text, allow_partial="trailing-strings")
    return value


def _field_spans(text: str, start: int) -> dict[str, tuple[int, int]]:
    """The places of the fields of the object at `start`; one that was cut off ends with the text."""
    spans: dict[str, tuple[int, int]] = {}
    at = _past_space(text, start + 1)
    while text.startswith('"', at):
        try:
            name, at = _DECODER.raw_decode(text, at)
        except ValueError:
            break
        begin = _past_space(text, _past_space(text, at) + 1)  # behind the colon
        try:
            _, end = _DECODER.raw_decode(text, begin)
        except (ValueError, RecursionError):
            if begin < len(text):
                spans[name] = (begin + text.startswith('"', begin), len(text))
            break
        is_string = text[begin] == '"' and end - begin > 2
        spans[name] = (begin + 1, end - 1) if is_string else (begin, end)
        at = _past_space(text, _past_space(text, end) + 1)  # behind the comma
    return spans


def _past_space(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


_NOT_SENT = {
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "pattern",
    "format",
    "title",
    "default",
}


@lru_cache(maxsize=64)
def json_schema_of(schema: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema: objects closed, fields in the class's order, all required unless omittable.

    It has no lengths and ranges; `max_tokens` bounds the reply and the class cuts what is too long.
    """
    strict: dict[str, Any] = _strict(schema.model_json_schema())
    if omits_defaults(schema):
        strict["required"] = schema.model_json_schema()["required"]
    return strict


def omits_defaults(schema: type[BaseModel]) -> bool:
    return bool(getattr(schema, "omits_defaults", False))


def _strict(node: Any) -> Any:
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    strict = {
        key: {name: _strict(inner) for name, inner in value.items()}
        if key in ("properties", "$defs")
        else _strict(value)
        for key, value in node.items()
        if key not in _NOT_SENT
    }
    if "properties" in strict:
        strict["required"] = list(strict["properties"])
        strict["additionalProperties"] = False
    return strict
