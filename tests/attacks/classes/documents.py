"""Drawn from the OpenAPI documents: each operation of each app, with values in and out of its limits."""

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote

from tests.attacks.inputs import AttackClass, Input, Make, Part, Scene, form, request
from tests.attacks.judging import ROOT
from tests.attacks.mutations import dumped
from tests.attacks.words import VALUES, text

_FOLDER = ROOT / "tests" / "contract" / "openapi"
_STRANGE = 0.12
"""How often a value is another than the document wants."""
_DEPTH = 6


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path. `parts`: the document's definitions."""

    app: str
    method: str
    path: str
    described: Mapping[str, Any]
    parts: Mapping[str, Any]


@cache
def operations() -> tuple[Operation, ...]:
    """Of every app."""
    found = []
    for file in sorted(_FOLDER.glob("*.json")):
        document = json.loads(file.read_text())
        for path, methods in document["paths"].items():
            for method, described in methods.items():
                found.append(Operation(file.stem, method.upper(), path, described, document))
    return tuple(found)


def _made(operation: Operation) -> Make:
    return lambda draw, scene: _asked(draw, scene, operation)


def _asked(draw: random.Random, scene: Scene, operation: Operation) -> Input:
    path, query, headers = operation.path, [], []
    for given in operation.described.get("parameters", ()):
        value = _plain(_value(draw, given.get("schema", {}), operation.parts))
        if given["in"] == "path":
            path = path.replace("{" + given["name"] + "}", quote(value, safe="", errors="replace") or "x")
        elif given["in"] == "query":
            query.append(f"{given['name']}={quote(value, safe='', errors='replace')}")
        else:
            headers.append((given["name"], quote(value, safe=" ", errors="replace")))
    if query and draw.random() < 0.8:
        path += "?" + "&".join(query)
    if operation.app == "gateway":
        headers.append(scene.authorization)
    kind, body = _body(draw, scene, operation)
    if kind:
        headers.append(("Content-Type", kind))
    what = f"{operation.app}: {operation.method} {operation.path}"
    return Input(what, request(operation.method, path, headers, body), to=operation.app)


def _body(draw: random.Random, scene: Scene, operation: Operation) -> tuple[str, bytes]:
    content = operation.described.get("requestBody", {}).get("content", {})
    if not content:
        return "", b""
    kind = draw.choice(sorted(content))
    schema = _resolved(content[kind].get("schema", {}), operation.parts)
    if kind == "application/json":
        return kind, dumped(_value(draw, schema, operation.parts))
    parts = []
    for name, each in schema.get("properties", {}).items():
        if name in schema.get("required", ()) or draw.random() < 0.5:
            parts += _form_parts(draw, scene, name, _resolved(each, operation.parts), operation.parts)
    return f"{kind}; boundary=attack-7d1f4c", form(parts)


def _form_parts(
    draw: random.Random, scene: Scene, name: str, schema: Any, document: Mapping[str, Any]
) -> list[Part]:
    inner = _resolved(schema.get("items", {}), document) if schema.get("type") == "array" else schema
    if inner.get("format") == "binary" or "contentMediaType" in inner:
        return [Part(name, scene.photo, "photo.jpg", "image/jpeg")] * draw.choice((1, 1, 1, 2))
    value = _value(draw, schema, document)
    return [Part(name, _plain(value).encode("utf-8", "surrogatepass"))]


def _plain(value: object) -> str:
    return value if isinstance(value, str) else dumped(value).decode("utf-8", "surrogatepass")


def _resolved(schema: Any, document: Mapping[str, Any]) -> Mapping[str, Any]:
    for _ in range(_DEPTH):
        if not isinstance(schema, dict) or "$ref" not in schema:
            break
        found: Any = document
        for step in schema["$ref"].removeprefix("#/").split("/"):
            found = found.get(step, {}) if isinstance(found, dict) else {}
        schema = found
    return schema if isinstance(schema, dict) else {}


def _value(draw: random.Random, given: Any, document: Mapping[str, Any], depth: int = 0) -> Any:
    schema = _resolved(given, document)
    if draw.random() < _STRANGE or depth > _DEPTH:
        return draw.choice((draw.choice(VALUES), text(draw)))
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return _value(draw, draw.choice(schema[several]), document, depth + 1)
    if "enum" in schema:
        return draw.choice(schema["enum"])
    if "const" in schema:
        return schema["const"]
    kind = schema.get("type")
    if kind == "object":
        return _object(draw, schema, document, depth)
    if kind == "array":
        count = min(
            draw.choice((schema.get("minItems", 0), 1, 3, schema.get("maxItems", 70) + 1)), 5_000 >> depth
        )
        return [_value(draw, schema.get("items", {}), document, depth + 1) for _ in range(count)]
    return _scalar(draw, kind, schema)


def _object(
    draw: random.Random, schema: Mapping[str, Any], document: Mapping[str, Any], depth: int
) -> dict[str, Any]:
    required = schema.get("required", ())
    made = {
        name: _value(draw, each, document, depth + 1)
        for name, each in schema.get("properties", {}).items()
        if (name in required and draw.random() < 0.97) or (name not in required and draw.random() < 0.5)
    }
    if draw.random() < 0.05:
        made[text(draw)[:60]] = draw.choice(VALUES)
    return made


def _scalar(draw: random.Random, kind: object, schema: Mapping[str, Any]) -> Any:
    if kind in ("integer", "number"):
        low, high = schema.get("minimum", -5), schema.get("maximum", 10**6)
        number = draw.choice((low, high, low - 1, high + 1, 0, (low + high) // 2, 10**18))
        return number if kind == "integer" else draw.choice((number, 0.5, 1e308, -1e-300))
    if kind == "boolean":
        return draw.random() < 0.5
    if kind == "null":
        return None
    least, most = schema.get("minLength", 0), schema.get("maxLength", 300)
    return draw.choice(
        (
            "a",
            "what is this?",
            "a" * least,
            "a" * min(most, 20_000),
            "a" * (min(most, 20_000) + 1),
            text(draw),
        )
    )


CLASS = AttackClass(
    "documents", "drawn from the OpenAPI documents", {_made(each): 1 for each in operations()}
)
