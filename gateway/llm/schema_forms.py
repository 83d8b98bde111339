"""One model class, three ways to describe it to a server, and the way back from its reply.

The forms are a ladder: a server that refuses one is asked in the next.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ValidationError

from gateway.llm.prompt import Schema
from gateway.llm.repair import FoundObject, squeezed


class SchemaForm(StrEnum):
    """How a server is told what to write, most exact first."""

    SCHEMA = "json_schema"
    """Without lengths and ranges: some grammars refuse them, others cut sentences at them."""
    OBJECT = "json_object"
    """Any JSON object is enforced; the fields are described in words."""
    WORDS = "words"
    """Nothing is enforced."""

    @property
    def next(self) -> "SchemaForm | None":
        """The next lower rung."""
        forms = list(SchemaForm)
        return forms[forms.index(self) + 1] if self is not SchemaForm.WORDS else None

    @property
    def has_grammar(self) -> bool:
        """Whether the server can write nothing but the object."""
        return self is SchemaForm.SCHEMA


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
_MAX_FIT_DEPTH = 16


@lru_cache(maxsize=64)
def json_schema_of(schema: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema: objects closed, fields in the class's order, all required unless omittable.

    It has no lengths and ranges; `max_tokens` bounds the reply and `fitted` cuts it.
    """
    strict: dict[str, Any] = _strict(schema.model_json_schema())
    if omits_defaults(schema):
        strict["required"] = _own_schema(schema)["required"]
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


@lru_cache(maxsize=64)
def described(name: str, schema: type[BaseModel]) -> str:
    """The same schema in words, for a server that takes none."""
    root = schema.model_json_schema()
    lines = "\n".join(_described_fields(root, root.get("$defs", {}), indent=""))
    which = "without those that would be null or empty" if omits_defaults(schema) else "all required"
    return (
        f'Write the form "{name}" as one JSON object, with no text before or after it and no code fence. '
        f"Its fields, {which}, in this order:\n{lines}"
    )


def _described_fields(node: Mapping[str, Any], definitions: Mapping[str, Any], indent: str) -> Iterator[str]:
    for name, inner in node["properties"].items():
        note = inner.get("description")
        kind, nested = _described_kind(inner, definitions)
        yield f'{indent}- "{name}": {kind}' + (f". {note}" if note else "")
        if nested is not None and len(indent) < _MAX_FIT_DEPTH:
            yield from _described_fields(nested, definitions, indent + "  ")


def _described_kind(
    node: Mapping[str, Any], definitions: Mapping[str, Any]
) -> tuple[str, Mapping[str, Any] | None]:
    """The kind in words, and the object that it holds, if any."""
    node = _resolved(node, definitions)
    if "anyOf" in node:
        described = [_described_kind(option, definitions) for option in node["anyOf"]]
        return " or ".join(kind for kind, _ in described), next((n for _, n in described if n), None)
    if "enum" in node:
        return "one of " + ", ".join(f'"{value}"' for value in node["enum"]), None
    if "const" in node:
        return f'always "{node["const"]}"', None
    if node.get("type") == "array":
        kind, nested = _described_kind(node.get("items", {}), definitions)
        most = f"at most {node['maxItems']} " if "maxItems" in node else ""
        return f"list of {most}items, each {kind}", nested
    if "properties" in node:
        return "object with these fields", node
    limit = f" of at most {node['maxLength']} characters" if "maxLength" in node else ""
    return f"{node.get('type', 'value')}{limit}", None


def _resolved(node: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" in node:
        resolved: Mapping[str, Any] = definitions[node["$ref"].rpartition("/")[2]]
        return resolved
    if len(node.get("allOf", ())) == 1:
        return _resolved(node["allOf"][0], definitions)
    return node


def fitted(value: Mapping[str, Any], schema: type[Schema]) -> Schema | None:
    """An instance of `schema` from what a server without a grammar wrote, or None.

    Too long strings and lists are cut at their limits, unknown fields dropped; everything else must hold.
    """
    root = _own_schema(schema)
    try:
        return schema.model_validate(_cut(value, root, root.get("$defs", {}), 0))
    except ValidationError:
        return None


def read_as(found: FoundObject, schema: type[Schema]) -> Schema | None:
    """`fitted`, also where one more object, whole, stands around it under whatever name the model gave it."""
    value = fitted(found.value, schema)
    inner = next(iter(found.value.values())) if found.complete and len(found.value) == 1 else None
    return fitted(inner, schema) if value is None and isinstance(inner, dict) else value


def spans_by_name(found: FoundObject, schema: type[BaseModel]) -> dict[str, tuple[int, int]]:
    """The places of what was found, by the schema's own spelling of the fields."""
    names = {squeezed(name): name for name in schema.model_fields}
    return {names[squeezed(key)]: span for key, span in found.spans.items() if squeezed(key) in names}


@lru_cache(maxsize=64)
def _own_schema(schema: type[BaseModel]) -> dict[str, Any]:
    return schema.model_json_schema()


def _cut(value: Any, node: Mapping[str, Any], definitions: Mapping[str, Any], depth: int) -> Any:
    if depth > _MAX_FIT_DEPTH:
        return value
    node = _resolved(node, definitions)
    if "anyOf" in node:
        options = [_resolved(option, definitions) for option in node["anyOf"]]
        node = next((option for option in options if option.get("type") == _json_type(value)), {})
    if isinstance(value, str) and "maxLength" in node:
        return value[: node["maxLength"]]
    if isinstance(value, list):
        items = node.get("items", {})
        return [_cut(item, items, definitions, depth + 1) for item in value[: node.get("maxItems")]]
    if isinstance(value, dict) and "properties" in node:
        known = node["properties"]
        by_spelling = {squeezed(name): name for name in known}
        named = {by_spelling.get(squeezed(key), key): inner for key, inner in value.items()}
        return {
            key: _cut(inner, known[key], definitions, depth + 1)
            for key, inner in named.items()
            if key in known
        }
    return value


def _json_type(value: Any) -> str | None:
    kinds: dict[type, str] = {str: "string", list: "array", dict: "object", bool: "boolean", int: "integer"}
    return kinds.get(type(value))
