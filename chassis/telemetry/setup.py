"""Switches the recording of spans on, for as long as the process runs; off, nothing of it is loaded.

`chassis.telemetry.otlp` does the recording and is imported when telemetry is on.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from chassis.startup import CannotStart, sentence_of
from chassis.telemetry.spans import UNRECORDED, Span

if TYPE_CHECKING:
    from chassis.telemetry.otlp import OpenTelemetry

_NEEDS = "it comes with loreglass[telemetry]"


class _Switch:
    """The recorder of this process. Not a context variable: servers choose their contexts themselves."""

    recorder: "OpenTelemetry | None" = None


def exchange_span(service: str, name: str, *, at_the_edge: bool = False) -> Span:
    """Return the span of a service's work for one request, in the trace of `TRACE_ID` and `CALLER`.

    `at_the_edge`: it is decided here whether the span is sampled, whatever the caller says.
    """
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
