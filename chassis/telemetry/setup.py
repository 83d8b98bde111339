"""Switches the recording of spans on, for as long as the process runs; off, nothing of it is loaded.

`chassis.telemetry.otlp` does the recording and is imported when telemetry is on.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Protocol

from chassis.startup import CannotStart, sentence_of
from chassis.telemetry.spans import UNRECORDED, Span

_NEEDS = "it comes with loreglass[telemetry]"


class Recorder(Protocol):
    """Where the spans of exchanges begin, while telemetry is on."""

    def exchange(self, service: str, name: str, *, at_the_edge: bool) -> Span:
        """The span of a service's work for one request, in the trace of `TRACE_ID` and `CALLER`.

        `at_the_edge`: whether it is kept is decided here, whatever the caller says.
        """
        ...


class _Switch:
    """The recorder of this process. Not a context variable: servers choose their contexts themselves."""

    recorder: Recorder | None = None


def exchange_span(service: str, name: str, *, at_the_edge: bool = False) -> Span:
    """The span of a whole request; `TRACE_ID` and `CALLER` are set. See `Recorder`."""
    recorder = _Switch.recorder
    return UNRECORDED if recorder is None else recorder.exchange(service, name, at_the_edge=at_the_edge)


@contextlib.contextmanager
def open_telemetry(exporters: Sequence[str]) -> Iterator[None]:
    """Record spans and export them; with no exporter nothing is done (`TelemetrySettings.exporters`).

    Raises `CannotStart` where it is asked for and cannot be had. Spans that wait are flushed at the end.
    """
    if not exporters:
        yield
        return
    try:
        from chassis.telemetry.otlp import OpenTelemetry
    except ImportError as error:
        raise CannotStart(f"Traces cannot be exported: {sentence_of(error)} ({_NEEDS}).") from error
    recorder = OpenTelemetry(exporters)
    _Switch.recorder = recorder
    try:
        yield
    finally:
        _Switch.recorder = None
        recorder.close()
