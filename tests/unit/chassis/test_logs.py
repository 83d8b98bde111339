"""Logs, and errors on their way between services."""

import json
import logging
import sys
import warnings
from collections.abc import Callable, Iterator
from io import StringIO
from typing import Any

import pytest
import structlog

from chassis.errors import (
    PROBLEM_TYPE_PREFIX,
    DependencyUnavailable,
    LoreglassError,
    Overloaded,
    error_from_problem,
    problem_of,
)
from chassis.http.problems import problem_response
from chassis.telemetry.logs import configure_logging
from chassis.telemetry.spans import TRACE_ID
from contracts.errors import ErrorKind, Problem

TRACE = "0af7651916cd43dd8448eb211c80319c"
SECRET = "what is written in my diary"

Configure = Callable[[str], StringIO]


@pytest.fixture
def configured(monkeypatch: pytest.MonkeyPatch) -> Iterator[Configure]:
    """Logging as a process sets it up, into memory; undone afterwards."""
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)

    def configure(at: str) -> StringIO:
        written = StringIO()
        monkeypatch.setattr(sys, "stderr", written)
        root.handlers[:] = []
        configure_logging(at)
        return written

    yield configure
    logging.captureWarnings(False)
    root.handlers[:] = before
    root.setLevel(level)
    structlog.reset_defaults()
    TRACE_ID.set(None)


def lines(written: StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in written.getvalue().splitlines()]


def fail() -> None:
    """Raises as deep down as a real fault: a cause, a group."""
    try:
        int(SECRET)
    except ValueError as error:
        raise ExceptionGroup(SECRET, [KeyError(SECRET)]) from error


def test_own_and_library_log_lines_have_one_format(configured: Configure) -> None:
    written = configured("info")
    TRACE_ID.set(TRACE)
    structlog.get_logger().info("ours", number=1)
    logging.getLogger("uvicorn.error").warning("Invalid %s.\nGET /%s", "request", SECRET)
    ours, theirs = lines(written)
    assert (ours["event"], ours["number"], ours["trace_id"]) == ("ours", 1, TRACE)
    assert (theirs["event"], theirs["logger"], theirs["trace_id"]) == (
        "Invalid request.",
        "uvicorn.error",
        TRACE,
    )
    assert {"level", "timestamp"} <= ours.keys() & theirs.keys()
    assert SECRET not in written.getvalue()


@pytest.mark.parametrize(
    ("level", "trace", "logger", "is_whole"),
    [
        ("info", None, structlog.get_logger(), True),
        ("info", TRACE, structlog.get_logger(), False),
        ("info", None, logging.getLogger("asyncio"), False),
        ("debug", TRACE, structlog.get_logger(), True),
    ],
    ids=["outside of a request", "in a request", "by a library", "at level debug"],
)
def test_error_log_omits_texts_that_may_quote_a_question(
    configured: Configure, level: str, trace: str | None, logger: Any, is_whole: bool
) -> None:
    written = configured(level)
    TRACE_ID.set(trace)
    try:
        fail()
    except ExceptionGroup:
        logger.exception("fault\nfuture: 5")
    (line,) = lines(written)
    assert line.get("trace_id") == trace
    assert (SECRET in written.getvalue()) is is_whole
    for part in ("ValueError", "ExceptionGroup", "KeyError", "in fail", "in test_error_log"):
        assert part in line["exception"]


def test_self_referencing_exception_context_ends(configured: Configure) -> None:
    written = configured("info")
    TRACE_ID.set(TRACE)
    error, other = ValueError(SECRET), KeyError(SECRET)
    error.__context__, other.__context__ = other, error
    structlog.get_logger().error("fault", exc_info=error)
    (line,) = lines(written)
    assert line["exception"].count("KeyError") == 1


CLASSES = LoreglassError.__subclasses__()


def test_every_error_kind_has_one_class() -> None:
    assert [error.kind for error in CLASSES] == list(dict.fromkeys(error.kind for error in CLASSES))
    assert {error.kind for error in CLASSES} == set(ErrorKind)


@pytest.mark.parametrize("error_class", CLASSES, ids=lambda error: error.kind.value)
def test_error_class_is_kept_over_http(error_class: type[LoreglassError]) -> None:
    sent = Problem.model_validate_json(problem_of(error_class("What happened."), "0" * 32).model_dump_json())
    caught = error_from_problem(sent)
    assert type(caught) is error_class
    assert caught.detail == "What happened."
    assert 400 <= sent.status == error_class.status < 600


def test_a_problem_of_a_newer_service_becomes_an_unavailable_dependency() -> None:
    problem = Problem(type=PROBLEM_TYPE_PREFIX + "teapot", title="Teapot", status=418, detail="Short.")
    caught = error_from_problem(problem)
    assert type(caught) is DependencyUnavailable
    assert caught.detail == "Short."


@pytest.mark.parametrize(("seconds", "header"), [(0.2, "1"), (1, "1"), (2.5, "3")])
def test_retry_after_is_whole_seconds_and_surrogates_are_replaced(seconds: float, header: str) -> None:
    reply = problem_response(Overloaded("bad name: \ud800", retry_after_s=seconds), None)
    assert reply.headers["retry-after"] == header
    assert Problem.model_validate_json(bytes(reply.body)).detail.startswith("bad name: ")
