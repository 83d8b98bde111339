"""The proto files agree with the Python contracts and with what was published."""

import re

import pytest

from tests.contract.agreement import PACKAGE, PROTO_ONLY, disagreements, read_contracts, read_image
from tests.contract.buf_tool import PROTO, PUBLISHED, Image, buf, built_image


def test_proto_files_and_pydantic_models_agree_field_by_field() -> None:
    assert disagreements(read_image(built_image()), read_contracts()) == []


def _file(image: Image, name: str) -> Image:
    file: Image = next(file for file in image["file"] if file["name"].endswith(f"/{name}"))
    return file


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("text", {"name": "text_renamed"}),
        ("text", {"type": "TYPE_FLOAT"}),
        ("text", {"label": "LABEL_REPEATED"}),
        ("text", {"proto3Optional": True}),
        ("quadrilateral", {"label": "LABEL_OPTIONAL"}),
    ],
    ids=str,
)
def test_changed_field_is_reported(name: str, change: Image) -> None:
    image = built_image()
    [message] = [each for each in _file(image, "ocr.proto")["messageType"] if each["name"] == "TextLine"]
    [field] = [each for each in message["field"] if each["name"] == name]
    field.update(change)
    lines = disagreements(read_image(image), read_contracts())
    assert any(line.startswith(f"TextLine.{name}") for line in lines)


def test_changed_enum_is_reported() -> None:
    image = built_image()
    [enum] = [each for each in _file(image, "answer.proto")["enumType"] if each["name"] == "Reason"]
    enum["value"].pop()
    [line] = disagreements(read_image(image), read_contracts())
    assert line.startswith("enum Reason")


def test_message_of_one_side_only_is_reported() -> None:
    image, python = built_image(), read_contracts()
    file = _file(image, "ocr.proto")
    kept = [message for message in file["messageType"] if message["name"] != "TextLine"]
    file["messageType"] = [*kept, {"name": "Stray"}]
    assert disagreements(read_image(image), python) == [
        "message Stray: in loreglass/v1/ocr.proto but not in contracts.ocr",
        "message TextLine: in contracts.ocr but not in loreglass/v1/ocr.proto",
    ]


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


def test_the_proto_files_pass_buf_lint() -> None:
    linted = buf("lint", str(PROTO))
    assert linted.returncode == 0, linted.stdout + linted.stderr


def test_the_proto_files_are_formatted() -> None:
    formatted = buf("format", str(PROTO), "--diff", "--exit-code")
    assert formatted.returncode == 0, formatted.stdout + formatted.stderr


def test_the_proto_files_break_nothing_that_was_published() -> None:
    compared = buf("breaking", str(PROTO), "--against", str(PUBLISHED))
    assert compared.returncode == 0, compared.stdout + compared.stderr
