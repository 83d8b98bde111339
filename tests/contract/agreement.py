"""Compares the two spellings of the contracts: proto files (as a buf image) and pydantic models.

Both are read into the same small shapes, so that one comparison finds what either side has and the other
has not. The mapping is the table in `proto/loreglass/v1/README.md`.
"""

import importlib
import pkgutil
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel
from pydantic.types import EncodedBytes

import contracts
from contracts.message import Message, Request
from tests.contract.buf_tool import Image

PACKAGE = "loreglass.v1"

PROTO_ONLY: Mapping[str, str] = {
    "AnswerEvent": "names the server-sent events; each event's data is a message of its own",
    "BuildRequest": "a path parameter beside the body",
    "ClassifyRequest": "parts of a multipart form",
    "CropRequest": "parts of a multipart form",
    "DeleteCollectionRequest": "a path parameter",
    "DeleteMemoryRequest": "a header and a path parameter",
    "DeleteSessionRequest": "a path parameter",
    "FindMissingRequest": "a path parameter beside the body",
    "DocumentsRequest": "a path parameter beside the body",
    "FindSourceRequest": "a path parameter and a query",
    "FinishRequest": "a path parameter beside the body",
    "GetMemoryRequest": "a header",
    "GetTraceRequest": "a path parameter",
    "ImageSearchRequest": "parts of a multipart form",
    "ListDocumentsRequest": "a path parameter and a query",
    "OcrRequest": "parts of a multipart form",
    "PutChunksRequest": "a path parameter beside the body",
    "PutImagesRequest": "a path parameter and parts of a multipart form",
    "RenameRequest": "a path parameter beside the body",
    "SourcesRequest": "a path parameter beside the body",
    "ShowDocumentRequest": "a path parameter and a query",
}
"""Messages without a pydantic model, and why they have none."""

# int64 is left out on purpose: its canonical JSON is a string, while our JSON has numbers.
SCALARS: Mapping[type, str] = {
    str: "string",
    bool: "bool",
    int: "int32",
    float: "double",
    bytes: "bytes without base64",
    datetime: "google.protobuf.Timestamp",
}


@dataclass(frozen=True)
class Shape:
    """A field's type and label: `one`, `optional`, `repeated`, `map` (then `type` is the value's)."""

    type: str
    label: str


@dataclass(frozen=True)
class Spelling:
    """One side of the comparison. Messages and enums are keyed by (file or module, name)."""

    messages: Mapping[tuple[str, str], Mapping[str, Shape]]
    enums: Mapping[tuple[str, str], tuple[str, ...]]


def read_image(image: Image) -> Spelling:
    """The spelling that the proto files have, PROTO_ONLY messages left out."""
    messages: dict[tuple[str, str], Mapping[str, Shape]] = {}
    enums: dict[tuple[str, str], tuple[str, ...]] = {}
    for file in image["file"]:
        if file.get("package") != PACKAGE:
            continue
        module = file["name"].removeprefix("loreglass/v1/").removesuffix(".proto")
        for message in file.get("messageType", []):
            if message["name"] not in PROTO_ONLY:
                messages[module, message["name"]] = _message_fields(message)
        for enum in file.get("enumType", []):
            enums[module, enum["name"]] = tuple(value["name"] for value in enum["value"])
    return Spelling(messages, enums)


def _message_fields(message: Image) -> dict[str, Shape]:
    entries = {entry["name"]: entry for entry in message.get("nestedType", [])}
    return {field["name"]: _proto_shape(field, entries) for field in message.get("field", [])}


def _proto_shape(field: Image, entries: Mapping[str, Image]) -> Shape:
    name = _proto_type(field)
    entry = entries.get(name.rpartition(".")[2])
    if entry is not None:
        key, value = entry["field"]
        return Shape(_proto_type(value), "map" if _proto_type(key) == "string" else "map with other keys")
    if field["label"] == "LABEL_REPEATED":
        return Shape(name, "repeated")
    if field.get("proto3Optional"):
        return Shape(name, "optional")
    return Shape(name, "one of several" if "oneofIndex" in field else "one")


def _proto_type(field: Image) -> str:
    if "typeName" in field:
        return str(field["typeName"]).removeprefix(".").removeprefix(PACKAGE + ".")
    return str(field["type"]).removeprefix("TYPE_").lower()


NOT_OURS = {"audio", "chat", "devices"}
"""Shapes that others have defined: OpenAI's, and what devices read."""


def read_contracts() -> Spelling:
    """The spelling that the pydantic models have."""
    messages: dict[tuple[str, str], Mapping[str, Shape]] = {}
    enums: dict[tuple[str, str], tuple[str, ...]] = {}
    for module, cls in _contract_classes():
        if issubclass(cls, BaseModel) and cls not in (Message, Request):
            messages[module, cls.__name__] = model_shapes(cls)
        elif issubclass(cls, StrEnum):
            enums[module, cls.__name__] = enum_values(cls)
    return Spelling(messages, enums)


def _contract_classes() -> Iterator[tuple[str, type]]:
    for info in pkgutil.iter_modules(contracts.__path__):
        if info.name in NOT_OURS:
            continue
        module = importlib.import_module(f"contracts.{info.name}")
        for value in vars(module).values():
            if not isinstance(value, type):
                continue
            is_public = info.name in ("answer", "errors") and value.__module__.startswith("loreglass_client.")
            if value.__module__ == module.__name__ or is_public:
                yield info.name, value


def model_shapes(model: type[BaseModel]) -> dict[str, Shape]:
    """Shapes by the names that stand in the model's JSON."""
    hints = typing.get_type_hints(model, include_extras=True)
    return {
        field.serialization_alias or field.alias or name: _python_shape(hints[name])
        for name, field in model.model_fields.items()
    }


def _python_shape(hint: object) -> Shape:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        rest = [argument for argument in arguments if argument is not type(None)]
        if len(rest) == 1 and len(arguments) == 2:
            return Shape(_python_type(rest[0]), "optional")
        return Shape(str(hint), "union")
    if origin is list:
        return Shape(_python_type(arguments[0]), "repeated")
    if origin is dict:
        return Shape(_python_type(arguments[1]), "map" if arguments[0] is str else "map with other keys")
    return Shape(_python_type(hint), "one")


def _python_type(hint: object) -> str:
    if typing.get_origin(hint) is typing.Annotated:
        base, *marks = typing.get_args(hint)
        encoded = any(isinstance(mark, EncodedBytes) for mark in marks)
        return "bytes" if base is bytes and encoded else _python_type(base)
    if isinstance(hint, type):
        return SCALARS.get(hint, hint.__name__)
    return str(hint)


def enum_values(enum: type[StrEnum]) -> tuple[str, ...]:
    """The proto names of the enum's values; a member whose string differs from its name cannot be mapped."""
    prefix = "".join("_" + letter if letter.isupper() else letter for letter in enum.__name__)
    prefix = prefix.lstrip("_").upper()
    return (f"{prefix}_UNSPECIFIED", *(f"{prefix}_{_value_name(member)}" for member in enum))


def _value_name(member: StrEnum) -> str:
    spaced = type(member).__name__ == "Domain"
    plain = member.value.replace(" ", "_") if spaced else member.value
    return plain.upper() if plain == plain.lower() else f"{plain} (not lower case)"


def disagreements(proto: Spelling, python: Spelling) -> list[str]:
    """One line for each thing that the two sides do not spell alike; empty when they agree."""
    results = list(_missing(proto.messages, python.messages, "message"))
    results += _missing(proto.enums, python.enums, "enum")
    for key in proto.messages.keys() & python.messages.keys():
        results += _field_disagreements(key[1], proto.messages[key], python.messages[key])
    results += [
        f"enum {name}: proto has {proto.enums[module, name]}, python has {python.enums[module, name]}"
        for module, name in proto.enums.keys() & python.enums.keys()
        if proto.enums[module, name] != python.enums[module, name]
    ]
    return sorted(results)


def _missing(
    proto: Mapping[tuple[str, str], object], python: Mapping[tuple[str, str], object], what: str
) -> Iterator[str]:
    for module, name in proto.keys() - python.keys():
        yield f"{what} {name}: in loreglass/v1/{module}.proto but not in contracts.{module}"
    for module, name in python.keys() - proto.keys():
        yield f"{what} {name}: in contracts.{module} but not in loreglass/v1/{module}.proto"


def _field_disagreements(
    message: str, proto: Mapping[str, Shape], python: Mapping[str, Shape]
) -> Iterator[str]:
    for name in proto.keys() | python.keys():
        if proto.get(name) != python.get(name):
            yield f"{message}.{name}: proto has {proto.get(name)}, python has {python.get(name)}"
