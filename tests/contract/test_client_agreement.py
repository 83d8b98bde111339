"""The client that goes out knows what the gateway says, field by field, and what can go wrong, by kind."""

import ast
import inspect
import sys
import tomllib
import typing
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

import pytest
from pydantic import BaseModel

from chassis.errors import LoreglassError as ServiceError
from contracts import answer, headers, operations
from contracts.domain_router import Domain
from contracts.errors import ErrorKind, Problem
from loreglass_client import Answer, LoreglassError, calls, client, errors, models
from tests.contract.agreement import model_shapes

ROOT = Path(__file__).parents[2]
THEIRS = {
    name: value
    for module in (answer, operations)
    for name, value in vars(module).items()
    if isinstance(value, type) and issubclass(value, BaseModel | StrEnum)
} | {"Problem": Problem}
OURS = {
    name: value
    for name, value in vars(models).items()
    if isinstance(value, type)
    and issubclass(value, BaseModel | StrEnum)
    and value.__module__ == models.__name__
}
BASES = {"Body", "Word"}
ASKED_WITH = {"AnswerRequest", "ImageInput", "AudioInput", "MemoryInput"}
"""Requests, which the client spells as arguments."""
OTHERS = {"Info", "Message", "Request", "Domain", "StrEnum"}
"""What services tell each other, the contracts' own bases, and words that the client leaves as they are."""


def test_the_client_has_every_message_and_word_of_the_public_api_and_no_other() -> None:
    assert set(OURS) - BASES == set(THEIRS) - ASKED_WITH - OTHERS


@pytest.mark.parametrize("name", sorted(n for n in OURS if issubclass(OURS[n], BaseModel) and n not in BASES))
def test_a_message_has_the_same_fields_of_the_same_types_and_defaults(name: str) -> None:
    ours, theirs = model_shapes(OURS[name]), model_shapes(THEIRS[name])
    for field in [field for field, shape in theirs.items() if shape.type == Domain.__name__]:
        assert ours.pop(field).type == "string"
        theirs.pop(field)
    assert ours == theirs
    assert list(defaults(OURS[name])) == list(defaults(THEIRS[name]))


def defaults(model: type[BaseModel]) -> Iterator[tuple[str, bool, object]]:
    for name, field in model.model_fields.items():
        default = field.get_default()
        told = default.model_dump() if isinstance(default, BaseModel) else default
        yield name, field.is_required(), None if field.is_required() else told


@pytest.mark.parametrize("name", sorted(n for n in OURS if issubclass(OURS[n], StrEnum) and n not in BASES))
def test_words_are_the_same(name: str) -> None:
    assert {each.name: each.value for each in OURS[name]} == {each.name: each.value for each in THEIRS[name]}


def test_there_is_a_class_for_every_kind_of_error_by_the_name_that_it_has_in_the_platform() -> None:
    platforms = {error.kind.value: error.__name__ for error in ServiceError.__subclasses__()}
    clients = {error.kind: error.__name__ for error in LoreglassError.__subclasses__()}
    of_the_way = {errors.Unreachable.kind, errors.BrokenReply.kind}
    assert set(platforms) == {kind.value for kind in ErrorKind}
    assert {kind: name for kind, name in clients.items() if kind not in of_the_way} == platforms


def test_every_event_of_a_stream_is_known() -> None:
    told = inspect.getsource(answer)
    documented = {line.split("`")[1] for line in told.splitlines() if "Event `" in line}
    assert {
        name for name, kind in models.EVENTS.items() if kind not in (Answer, models.Citation)
    } == documented
    assert set(models.EVENTS.values()) == set(typing.get_args(models.Event))


def test_every_way_to_ask_is_an_argument_or_an_option() -> None:
    options = set(client.Options.__annotations__)
    assert options - {"idempotency_key"} == set(answer.AnswerRequest.model_fields) - {"question", "image"}


def test_the_headers_are_the_platforms() -> None:
    written = "".join(inspect.getsource(module) for module in (calls, client))
    assert f'"{headers.DEADLINE}"' in written
    assert f'"{headers.IDEMPOTENCY_KEY}"' in written


def test_nothing_is_imported_but_what_is_declared() -> None:
    imported = {
        name.split(".")[0]
        for file in (ROOT / "loreglass_client").glob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        for name in imports_of(node)
    }
    declared = tomllib.loads((ROOT / "loreglass_client/pyproject.toml").read_text())["project"]
    needed = {each.split(">")[0] for each in declared["dependencies"]}
    assert imported - sys.stdlib_module_names == needed | {"loreglass_client"}


def imports_of(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (each.name for each in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield node.module or ""
