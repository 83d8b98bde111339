"""Values read by pydantic (bodies, settings, TOML files), its errors in plain words and its schemas."""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from pydantic_settings import BaseSettings

from chassis.errors import InvalidRequest
from chassis.startup import WrongSettings

T = TypeVar("T")
Model = TypeVar("Model", bound=BaseModel)
Settings = TypeVar("Settings", bound=BaseSettings)
Amount = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
"""A number from 0."""
Count = Annotated[int, Field(strict=True, ge=0)]
"""A whole number from 0."""
Share = Annotated[float, Field(strict=True, ge=0, le=1)]
"""A number in 0..1."""
Switch = Annotated[bool, Field(strict=True)]

_PLAIN = {"missing": "must be given", "extra_forbidden": "unknown field"}
"""In place of what pydantic says, which speaks of fields and inputs."""


def first_fault(error: ValidationError) -> str:
    """The first entry that is wrong, and why: "image.base64: must be given". Quotes nothing of the input."""
    first = error.errors(include_url=False, include_input=False)[0]
    return fault(first["loc"], first["type"], first["msg"])


def validate(model: type[Model], values: object) -> Model:
    """Return `values` as a `model`. Raises `InvalidRequest`, which names the first fault."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise InvalidRequest(f"{first_fault(error)}.") from error


def from_environment(settings_class: type[Settings], **overrides: Any) -> Settings:
    """Return the environment's settings, except for `overrides`.

    Raises `WrongSettings` with the first fault. It shows no value, which may be a key.
    """
    try:
        return settings_class(**overrides)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        prefix, name = (
            str(settings_class.model_config.get("env_prefix", "")),
            "_".join(map(str, first["loc"])),
        )
        reason = first["msg"].removeprefix("Value error, ").rstrip(".")
        setting = (prefix + name).upper() if name else prefix + "*"
        raise WrongSettings(f"{setting}: {reason}.") from error


def read_toml(path: Path, name: str) -> dict[str, Any]:
    """Return the file's content. `name`: for messages. Raises `WrongSettings`, which quotes no content."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise WrongSettings(f"{name} cannot be read.") from error
    except ValueError:  # not TOML, or not UTF-8; the parser's words may quote the file
        raise WrongSettings(f"{name} is not TOML.") from None


def read_settings(kind: type[T], content: object, name: str) -> T:
    """The content as a value of `kind`. Raises `WrongSettings`: the first entry that is wrong, unquoted."""
    try:
        return TypeAdapter(kind).validate_python(content)
    except ValidationError as error:
        raise WrongSettings(f"{name} cannot be used: {first_fault(error)}.") from None


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
