"""Pydantic's schemas in one piece for OpenAPI, and its errors in plain words."""

from collections.abc import Iterable
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from chassis.errors import InvalidRequest

Model = TypeVar("Model", bound=BaseModel)

_PLAIN = {"missing": "must be given", "extra_forbidden": "unknown field"}
"""In place of what pydantic says, which speaks of fields and inputs."""


def first_fault(error: ValidationError) -> str:
    """The first entry that is wrong, and why: "image.base64: must be given". Quotes nothing of the input."""
    first = error.errors(include_url=False, include_input=False)[0]
    return fault(first["loc"], first["type"], first["msg"])


def validated(model: type[Model], values: object) -> Model:
    """Return `values` as a `model`. Raises `InvalidRequest`, which names the first fault."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise InvalidRequest(f"{first_fault(error)}.") from error


def fault(entry: Iterable[object], kind: str, message: str) -> str:
    """Return one of pydantic's errors in plain words, from its place, type and message."""
    where = ".".join(str(part) for part in entry)[:80]
    what = _PLAIN.get(kind) or message.removeprefix("Value error, ")
    return f"{where}: {what}" if where else what


def inlined_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Its JSON schema in one piece: within an OpenAPI document, `#/$defs/…` would lead nowhere."""
    schema = model.model_json_schema()
    kinds = schema.pop("$defs", {})

    def inline(node: Any) -> Any:
        if isinstance(node, list):
            return [inline(each) for each in node]
        if not isinstance(node, dict):
            return node
        kind = kinds[node["$ref"].removeprefix("#/$defs/")] if "$ref" in node else {}
        # A discriminator names the kinds by their references; their `type` tells them apart as well.
        rest = {name: each for name, each in node.items() if name not in ("$ref", "discriminator")}
        return {name: inline(each) for name, each in {**kind, **rest}.items()}

    inlined: dict[str, Any] = inline(schema)
    return inlined
