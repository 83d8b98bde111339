"""The client that goes out knows what the gateway says, field by field, and what can go wrong, by kind."""

import ast
import inspect
import sys
import tomllib
import typing
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from chassis.errors import LoreglassError as ServiceError
from contracts import answer, headers, operations
from contracts.errors import ErrorKind
from loreglass_client import Answer, LoreglassError, calls, client, errors, models
from tests.contract.agreement import model_shapes

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["Experiment", "Health"])
def test_duplicated_messages_have_equal_fields_types_and_defaults(name: str) -> None:
    ours, theirs = getattr(models, name), {**vars(answer), **vars(operations)}[name]
    assert model_shapes(ours) == model_shapes(theirs)
    assert list(defaults(ours)) == list(defaults(theirs))


def defaults(model: type[BaseModel]) -> Iterator[tuple[str, bool, object]]:
    for name, field in model.model_fields.items():
        yield name, field.is_required(), None if field.is_required() else field.get_default()


def test_each_error_kind_has_a_client_class_with_the_platforms_name() -> None:
    platforms = {error.kind.value: error.__name__ for error in ServiceError.__subclasses__()}
    clients = {error.kind: error.__name__ for error in LoreglassError.__subclasses__()}
    of_the_way = {errors.Unreachable.kind, errors.BrokenReply.kind}
    assert set(platforms) == {kind.value for kind in ErrorKind}
    assert {kind: name for kind, name in clients.items() if kind not in of_the_way} == platforms


def test_every_event_of_a_stream_is_known() -> None:
    lines = inspect.getsource(models).splitlines()
    documented = {line.split("`")[1] for line in lines if "Event `" in line}
    assert {
        name for name, kind in models.EVENTS.items() if kind not in (Answer, models.Citation)
    } == documented
    assert set(models.EVENTS.values()) == set(typing.get_args(models.Event))


def test_every_request_field_is_an_argument_or_an_option() -> None:
    options = set(client.Options.__annotations__)
    assert options - {"idempotency_key"} == set(answer.AnswerRequest.model_fields) - {"question", "image"}


def test_client_and_platform_use_the_same_headers() -> None:
    written = "".join(inspect.getsource(module) for module in (calls, client))
    assert f'"{headers.DEADLINE}"' in written
    assert f'"{headers.IDEMPOTENCY_KEY}"' in written


def test_client_imports_only_declared_dependencies() -> None:
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
