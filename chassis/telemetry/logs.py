"""Structured logs: one JSON line a request, never question text, image bytes or keys.

Whatever runs in a request names its trace. What an exception says may quote what was being worked on, so of
one that is logged within a request, or by a library, only its class and its frames are kept; at level debug
the text stays. Of what libraries log, the first line: what follows quotes objects.
"""

import json
import logging
import sys
import traceback
from collections.abc import Iterator
from datetime import UTC, datetime

import structlog
from structlog.typing import EventDict, Processor

from chassis.telemetry.spans import TRACE_ID

_LONGEST_EVENT = 500


def configure_logging(level: str) -> None:
    """Set up logging for the whole process. Call once, at the edge."""
    numeric = logging.getLevelNamesMapping()[level.upper()]
    verbose = numeric <= logging.DEBUG
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_LibraryLines(verbose))
    logging.basicConfig(level=max(numeric, logging.WARNING), handlers=[handler])
    logging.captureWarnings(True)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _name_the_trace,
            _exception_of(verbose),
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(numeric),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),  # a line is one write
        cache_logger_on_first_use=False,
    )


class _LibraryLines(logging.Formatter):
    """Formats the logs of libraries, and warnings, like ours."""

    def __init__(self, verbose: bool) -> None:
        super().__init__()
        self._verbose = verbose

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage().strip()
        line = {
            "event": message if self._verbose else message.partition("\n")[0][:_LONGEST_EVENT],
            "logger": record.name,
            "level": record.levelname.lower(),
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat().replace("+00:00", "Z"),
        }
        trace_id = TRACE_ID.get()
        if trace_id is not None:
            line["trace_id"] = trace_id
        if record.exc_info and record.exc_info[1]:
            line["exception"] = _describe(record.exc_info[1], with_text=self._verbose)
        return json.dumps(line)


def _name_the_trace(_: object, __: str, event: EventDict) -> EventDict:
    trace_id = TRACE_ID.get()
    if trace_id is not None:
        event.setdefault("trace_id", trace_id)
    return event


def _exception_of(verbose: bool) -> Processor:
    """Replaces `exc_info` by what may be shown of it."""

    def describe(_: object, __: str, event: EventDict) -> EventDict:
        info = event.pop("exc_info", None)
        error = info if isinstance(info, BaseException) else sys.exc_info()[1] if info else None
        if error is not None:
            event["exception"] = _describe(error, with_text=verbose or TRACE_ID.get() is None)
        return event

    return describe


def _describe(error: BaseException, *, with_text: bool) -> str:
    if with_text:
        return "".join(traceback.format_exception(error)).rstrip()
    return "\n".join(_frames(error, set())).rstrip()


def _frames(error: BaseException, seen: set[int]) -> Iterator[str]:
    """Yield a traceback as the interpreter prints it, causes first, without the messages."""
    seen.add(id(error))
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None and id(cause) not in seen:
        yield from _frames(cause, seen)
        yield "which led to:"
    yield "".join(traceback.format_tb(error.__traceback__)) + type(error).__qualname__
    if isinstance(error, BaseExceptionGroup):
        for place, each in enumerate(error.exceptions, 1):
            if id(each) not in seen:
                yield f"number {place} of the group:"
                yield from _frames(each, seen)
