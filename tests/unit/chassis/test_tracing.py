"""W3C Trace Context as untrusted callers write it."""

import pytest

from chassis.telemetry.spans import read_caller

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
GOOD = f"00-{TRACE}-{SPAN}-01"


@pytest.mark.parametrize(
    "traceparent",
    [
        "",
        GOOD.upper(),
        GOOD + "-00",
        GOOD + "," + GOOD,
        f"00-{'0' * 32}-{SPAN}-01",
        "ff" + GOOD[2:],
        "x" * 10_000,
    ],
)
def test_malformed_traceparent_is_ignored(traceparent: str) -> None:
    assert read_caller(GOOD) is not None
    assert read_caller(traceparent, "vendor=1") is None


@pytest.mark.parametrize(
    ("tracestate", "header"),
    [
        ("tenant1@vendor=a b , ,\tb=2", "tenant1@vendor=a b,b=2"),
        ("a=1,a=2", ""),
        ("a=1\r\nX-Forged: yes", ""),
        ("a=" + "x" * 250 + ",b=" + "x" * 300, ""),
        (" " * 100_000, ""),
    ],
)
def test_tracestate_is_forwarded_only_if_valid_and_short(tracestate: str, header: str) -> None:
    caller = read_caller(GOOD, tracestate)
    assert caller is not None
    assert caller.trace_state.to_header() == header
