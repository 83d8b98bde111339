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


def test_changed_field_word_and_message_are_reported() -> None:
    image = built_image()
    ocr = _file(image, "ocr.proto")["messageType"]
    [line] = [each for each in ocr if each["name"] == "TextLine"]
    [field] = [each for each in line["field"] if each["name"] == "text"]
    field["proto3Optional"] = True
    ocr.append({"name": "Stray"})
    [reason] = [each for each in _file(image, "answer.proto")["enumType"] if each["name"] == "Reason"]
    reason["value"].pop()
    lines = disagreements(read_image(image), read_contracts())
    assert [line.partition(":")[0] for line in lines] == ["TextLine.text", "enum Reason", "message Stray"]


def test_each_message_without_a_model_exists_and_has_a_reason() -> None:
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


@pytest.mark.parametrize(
    "check",
    [
        ("lint", str(PROTO)),
        ("format", str(PROTO), "--diff", "--exit-code"),
        ("breaking", str(PROTO), "--against", str(PUBLISHED)),
    ],
    ids=lambda check: check[0],
)
def test_proto_files_pass_lint_and_are_backward_compatible(check: tuple[str, ...]) -> None:
    checked = buf(*check)
    assert checked.returncode == 0, checked.stdout + checked.stderr
