"""The error table is complete, and what a service raises is what its caller catches."""

import pytest

from chassis.errors import (
    ERROR_TABLE,
    PROBLEM_TYPE_PREFIX,
    DependencyUnavailable,
    LoreglassError,
    Overloaded,
    error_from_problem,
    problem_of,
)
from chassis.http.problems import problem_response
from contracts.errors import ErrorKind, Problem

CLASSES = LoreglassError.__subclasses__()


@pytest.mark.parametrize("kind", ErrorKind)
def test_every_kind_has_a_row_and_exactly_one_class(kind: ErrorKind) -> None:
    assert [error for error in CLASSES if error.kind is kind] != []
    assert len([error for error in CLASSES if error.kind is kind]) == 1
    assert 400 <= ERROR_TABLE[kind].status < 600
    assert ERROR_TABLE[kind].title


@pytest.mark.parametrize("error_class", CLASSES, ids=lambda error: error.kind.value)
def test_an_error_survives_the_wire_as_the_same_class(error_class: type[LoreglassError]) -> None:
    raised = error_class("What happened.")
    sent = problem_of(raised, "0" * 32).model_dump_json()
    caught = error_from_problem(Problem.model_validate_json(sent))
    assert type(caught) is error_class
    assert caught.detail == "What happened."
    assert Problem.model_validate_json(sent).status == ERROR_TABLE[error_class.kind].status


def test_an_error_without_detail_says_its_title() -> None:
    assert Overloaded().detail == ERROR_TABLE[ErrorKind.OVERLOADED].title


def test_a_problem_of_a_newer_service_becomes_an_unavailable_dependency() -> None:
    problem = Problem(type=PROBLEM_TYPE_PREFIX + "teapot", title="Teapot", status=418, detail="Short.")
    caught = error_from_problem(problem)
    assert type(caught) is DependencyUnavailable
    assert caught.detail == "Short."


@pytest.mark.parametrize(("seconds", "header"), [(0.2, "1"), (1, "1"), (2.5, "3")])
def test_retry_after_is_whole_seconds_and_never_zero(seconds: float, header: str) -> None:
    reply = problem_response(Overloaded(retry_after_s=seconds), None)
    assert reply.headers["retry-after"] == header


def test_a_detail_with_a_lone_surrogate_can_still_be_sent() -> None:
    reply = problem_response(LoreglassError("bad name: \ud800"), None)
    assert Problem.model_validate_json(bytes(reply.body)).detail.startswith("bad name: ")
