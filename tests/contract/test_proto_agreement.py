"""The proto files and the pydantic models say the same, and the check that they do can fail."""

import re
from collections.abc import Callable
from enum import StrEnum

import pytest

from contracts.message import Message
from tests.contract.agreement import (
    PACKAGE,
    PROTO_ONLY,
    Shape,
    contract_fields,
    disagreements,
    enum_values,
    model_shapes,
    read_contracts,
    read_image,
)
from tests.contract.buf_tool import Image, built_image


def test_proto_files_and_pydantic_models_agree_field_by_field() -> None:
    assert disagreements(read_image(built_image()), read_contracts()) == []


def _drop(message: Image, field: Image) -> None:
    message["field"].remove(field)


def _rename(_: Image, field: Image) -> None:
    field["name"] += "_renamed"


def _retype(_: Image, field: Image) -> None:
    field.pop("typeName", None)
    field["type"] = "TYPE_FLOAT"


def _relabel(_: Image, field: Image) -> None:
    if field["label"] == "LABEL_REPEATED":
        field["label"] = "LABEL_OPTIONAL"
        if "typeName" in field:
            field["typeName"] = field["typeName"].removesuffix("Entry")
    else:
        field["label"] = "LABEL_REPEATED"


def _toggle_optional(_: Image, field: Image) -> None:
    if field["label"] == "LABEL_REPEATED":
        field["label"] = "LABEL_OPTIONAL"
        field["typeName"] = "." + PACKAGE + ".Point"
    field["proto3Optional"] = not field.get("proto3Optional", False)


@pytest.mark.parametrize("change", [_drop, _rename, _retype, _relabel, _toggle_optional])
def test_a_change_to_any_field_of_any_message_is_noticed(change: Callable[[Image, Image], None]) -> None:
    python = read_contracts()
    for position in range(len(list(contract_fields(built_image())))):
        image = built_image()
        message, field = list(contract_fields(image))[position]
        name = f"{message['name']}.{field['name']}"
        change(message, field)
        found = disagreements(read_image(image), python)
        assert any(line.startswith(name) for line in found), f"{change.__name__} of {name} went unnoticed"


def _enums(image: Image) -> list[Image]:
    return [
        enum for file in image["file"] if file.get("package") == PACKAGE for enum in file.get("enumType", [])
    ]


def _drop_last(values: list[Image]) -> None:
    values.pop()


def _rename_last(values: list[Image]) -> None:
    values[-1]["name"] += "_RENAMED"


def _append(values: list[Image]) -> None:
    values.append({"name": "NEW", "number": 99})


def _swap(values: list[Image]) -> None:
    values[1], values[2] = values[2], values[1]


@pytest.mark.parametrize("change", [_drop_last, _rename_last, _append, _swap])
def test_a_change_to_any_enum_is_noticed(change: Callable[[list[Image]], None]) -> None:
    python = read_contracts()
    for position, untouched in enumerate(_enums(built_image())):
        image = built_image()
        change(_enums(image)[position]["value"])
        found = disagreements(read_image(image), python)
        assert any(line.startswith(f"enum {untouched['name']}") for line in found)


def test_a_message_that_only_one_side_has_is_noticed() -> None:
    image, python = built_image(), read_contracts()
    file = next(file for file in image["file"] if file["name"].endswith("/ocr.proto"))
    kept = [message for message in file["messageType"] if message["name"] != "TextLine"]
    file["messageType"] = [*kept, {"name": "Stray"}]
    assert disagreements(read_image(image), python) == [
        "message Stray: in loreglass/v1/ocr.proto but not in contracts.ocr",
        "message TextLine: in contracts.ocr but not in loreglass/v1/ocr.proto",
    ]


def test_a_field_that_only_the_model_has_is_noticed() -> None:
    image, python = built_image(), read_contracts()
    widened = {**python.messages["ocr", "TextLine"], "language": Shape("string", "optional")}
    python = type(python)({**python.messages, ("ocr", "TextLine"): widened}, python.enums)
    assert any(line.startswith("TextLine.language") for line in disagreements(read_image(image), python))


def test_bytes_that_json_would_not_carry_as_base64_are_not_proto_bytes() -> None:
    class Raw(Message):
        image: bytes

    assert model_shapes(Raw) == {"image": Shape("bytes without base64", "one")}


def test_an_enum_string_that_is_not_its_lower_case_name_cannot_agree() -> None:
    class Mood(StrEnum):
        GOOD = "Good"

    assert enum_values(Mood) == ("MOOD_UNSPECIFIED", "MOOD_Good (not lower case)")


def test_each_message_without_a_model_exists_and_says_why() -> None:
    declared = {
        message["name"]
        for file in built_image()["file"]
        if file.get("package") == PACKAGE
        for message in file.get("messageType", [])
    }
    assert declared >= PROTO_ONLY.keys()
    assert not PROTO_ONLY.keys() & {name for _, name in read_contracts().messages}
    assert all(PROTO_ONLY.values())


ROUTE = re.compile(r"^ (GET|POST|PUT|DELETE) /[a-z]")


def test_each_rpc_names_its_http_method_and_path() -> None:
    unnamed = []
    for file in built_image()["file"]:
        comments = {
            tuple(location.get("path", ())): location.get("leadingComments", "")
            for location in file.get("sourceCodeInfo", {}).get("location", [])
        }
        for at, service in enumerate(file.get("service", [])):
            for place, method in enumerate(service["method"]):
                # The path is made of field numbers: a file's services are its 6, their methods their 2.
                if not ROUTE.match(comments.get((6, at, 2, place), "")):
                    unnamed.append(f"{service['name']}.{method['name']}")
    assert unnamed == []
