"""The two forms of a reply: JSON under a schema, or labelled lines for a model without a grammar.

    reason: Piece 1 gives the year.
    answer: It was founded in 1853.
    evidence:
    - 1

In lines nothing is quoted, escaped or closed, so nothing of that can go wrong; a list has a line for each
item. Each field is one line of a flat schema. Reading allows another order, spelling or decoration of the
labels; a label that says two things, or nothing that belongs to a field, makes the reply unreadable.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pydantic import BaseModel
from pydantic_core import from_json

SCHEMA, LINES = "json_schema", "words"
"""The names of the two forms in metrics and experiments."""

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


def thoughts_end(text: str) -> int:
    """Return the place after the thoughts of a model that thinks aloud; 0 if there are none."""
    return text.rfind(_THOUGHT_END) + len(_THOUGHT_END) if _THOUGHT_END in text else 0


def read_object(text: str) -> ReplyFields | None:
    """Return the JSON object that `text` begins with, after any thoughts; None if it begins with none.

    Of an object that was cut off, the fields so far; the last of them may be incomplete.
    """
    start = _past_space(text, 0 if text.lstrip().startswith("{") else thoughts_end(text))
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
    """Return the beginning of an object; None if anything but its end is wrong with it."""
    try:
        from_json(text)
    except ValueError as error:
        if "EOF" in str(error):
            value: dict[str, Any] = from_json(text, allow_partial="trailing-strings")
            return value
    return None


def _field_spans(text: str, start: int) -> dict[str, tuple[int, int]]:
    """Return the places of the fields of the object at `start`; one that was cut off ends with the text."""
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
    *("minLength", "maxLength", "minItems", "maxItems"),
    *("minimum", "maximum", "title", "default"),
}


@lru_cache(maxsize=64)
def json_schema_of(schema: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema: objects closed, fields in the class's order, all required unless omittable.

    It has no lengths and ranges, which some grammars refuse and others cut sentences at; `max_tokens` bounds
    the reply and the class cuts what is too long.
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


_NONE = "none"
_NOT_SPELLING = re.compile(r"[\W_]+")
_LABEL = re.compile(
    r"[ \t>#*_`•-]*(?:\d{1,2}[.)][ \t]+)?[*_`]*([A-Za-z][A-Za-z _-]{1,40}?)[*_`]*[ \t]*[:=](?!/)[*_`]*"
)
_BULLET = re.compile(r"(?:[-*•][ \t]+|\d{1,2}[.)][ \t]+)")
_JSON = re.compile(r"^[ \t]*[\[{]", re.MULTILINE)
_FENCE = re.compile(r"[ \t]*`{3,}\w*[ \t]*")


def line_instructions(name: str, schema: type[BaseModel]) -> str:
    """Return what to write, for a server that holds no schema."""
    labels = ", ".join(schema.model_fields)
    empty = "Leave out a field that" if omits_defaults(schema) else f"Write {_NONE} where a field"
    return (
        f'Write the form "{name}" as lines of text, one for each field and nothing else, in this order: '
        f"{labels}. "
        "Begin each line with the field's name and a colon. Write each item of a list on a line of its own, "
        f"behind a hyphen. {empty} has no value."
    )


def in_lines(reply: Mapping[str, Any]) -> str:
    """Return a reply as it is to be written; `reply` as JSON has it, flat."""
    return "\n".join(_line(name, value) for name, value in reply.items())


def _line(name: str, value: Any) -> str:
    if isinstance(value, list) and value:
        return "\n".join((f"{name}:", *(f"- {item}" for item in value)))
    if value is None or value == []:
        return f"{name}: {_NONE}"
    return f"{name}: {'yes' if value is True else 'no' if value is False else value}"


def read_lines(text: str, schema: type[BaseModel], *, ended: bool) -> ReplyFields | None:
    """Return the fields that `text` has lines for; None if that is not a reply of this form.

    `ended`: the model itself ended the reply. `spans` as in `read_object`.
    """
    if _JSON.search(text):
        return None
    fields = {_squeezed(name): name for name in schema.model_fields}
    values: dict[str, Any] = {}
    spans: dict[str, tuple[int, int]] = {}
    for name, start, end in _blocks(text, thoughts_end(text), fields):
        value, span = _value(text, start, end)
        if name in values and values[name] != value:
            return None
        if isinstance(value, str) and _squeezed(value) == _squeezed(
            schema.model_fields[name].description or "-"
        ):
            return None  # it copied the instruction
        values[name], spans[name] = value, span
    if len(values) < min(2, len(fields)):
        return None
    return ReplyFields(values, spans, ended)


def _squeezed(name: str) -> str:
    """A name by its letters and digits alone: `objectLabel`, "Object label" and `object_label` are one."""
    return _NOT_SPELLING.sub("", name.casefold())


def _blocks(text: str, begins: int, fields: Mapping[str, str]) -> Iterator[tuple[str, int, int]]:
    """Return each known label's field, and where what belongs to it begins and ends."""
    current, start, end = "", 0, 0
    at, after_gap = begins, False
    for line in text[begins:].splitlines(keepends=True):
        label = _LABEL.match(line)
        name = fields.get(_squeezed(label.group(1))) if label else None
        if label and name:
            if current:
                yield current, start, end
            current, start = name, at + label.end()
            end = at + len(line.rstrip())
        elif current and line.strip() and not _FENCE.fullmatch(line.rstrip()):
            value = text[start:end].strip()
            is_item = _BULLET.match(line.lstrip()) is not None
            goes_on = not after_gap and not value.endswith((".", "!", "?"))
            if is_item or not value or goes_on:
                end = at + len(line.rstrip())
        after_gap = not line.strip()
        at += len(line)
    if current:
        yield current, start, max(start, end)


def _value(text: str, start: int, end: int) -> tuple[Any, tuple[int, int]]:
    """Return a string, a list of them, or None; and its place."""
    raw = text[start:end]
    lines = [line.strip() for line in raw.splitlines() if line.strip()]
    if any(_BULLET.match(line) for line in lines) and "\n" in raw:
        items = [_plain(_BULLET.sub("", line, count=1)) for line in lines]
        values = [item for item in items if item and item.casefold() != _NONE]
        return values, (start, end)
    joined = " ".join(lines)
    value = _plain(joined)
    offset = raw.find(value) if value else -1
    span = (start + offset, start + offset + len(value)) if offset >= 0 else (start, end)
    return (None if value.casefold() in (_NONE, "null", "") else value), span


def _plain(text: str) -> str:
    """Return the text without emphasis and without quotes around all of it."""
    text = text.strip().strip("*`").strip()
    if len(text) < 2 or text[0] != text[-1] or text[0] not in "\"'":
        return text
    inner = text[1:-1].find(text[0])
    opens_another = inner < 0 or not text[inner].strip()
    return text[1:-1].strip() if opens_another else text
