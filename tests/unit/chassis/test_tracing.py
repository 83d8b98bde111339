"""W3C Trace Context as strangers write it."""

import pytest

from chassis.telemetry.tracing import Caller, is_trace_id, read_caller

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
GOOD = f"00-{TRACE}-{SPAN}-01"


def test_a_well_formed_parent_is_read() -> None:
    assert read_caller(GOOD, None) == Caller(TRACE, SPAN, sampled=True)
    assert read_caller(f"00-{TRACE}-{SPAN}-00", "") == Caller(TRACE, SPAN, sampled=False)


@pytest.mark.parametrize(
    "given",
    [
        None,
        "",
        GOOD.upper(),
        GOOD + " ",
        GOOD + "\n",
        " " + GOOD,
        GOOD + "-",
        GOOD + "-00",
        GOOD + "," + GOOD,
        GOOD[:-1],
        f"ff-{TRACE}-{SPAN}-01",
        f"0-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE[:-1]}g-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-0x",
        f"00-{TRACE}{SPAN}-01",
        f"01-{TRACE}-{SPAN}-01.later",
        f"01-{TRACE}-{SPAN}-01-" + "a" * 10_000,
        "٠٠-" + GOOD[3:],
    ],
)
def test_a_parent_that_is_not_well_formed_is_as_good_as_none(given: str | None) -> None:
    assert read_caller(given, "vendor=1") is None


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"),
        ("tenant1@vendor=a b , ,\tb=2", "tenant1@vendor=a b,b=2"),
        ("9vendor=1", ""),
        ("a=1,a=2", ""),
        ("a=1,b", ""),
        ("a=1=2", ""),
        ("Vendor=1", ""),
        ("a=ü", ""),
        ("a=1\r\nX-Forged: yes", ""),
        ("a=" + "x" * 600, ""),
        (",".join(f"k{number}=1" for number in range(33)), ""),
    ],
)
def test_state_is_passed_on_only_when_all_of_it_is_well_formed(given: str, kept: str) -> None:
    caller = read_caller(GOOD, given)
    assert caller is not None
    assert caller.state == kept


@pytest.mark.parametrize("given", ["", "0" * 32, TRACE.upper(), TRACE + "\n", TRACE[:-1]])
def test_a_trace_id_is_32_digits_that_are_not_all_zero(given: str) -> None:
    assert is_trace_id(TRACE)
    assert not is_trace_id(given)
