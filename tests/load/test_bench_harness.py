"""The harness of the benchmarks, and the other gateways that it measures."""

import asyncio
from collections import Counter
from pathlib import Path

import httpx
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from bench import __main__ as command
from bench.benchmark import About, Table, page, percentile, write
from bench.generator import Outcome, Reply, closed_loop, fate_of, open_loop, reply_of
from bench.peers import HAYSTACK, OPEA, ask, is_installed, peer
from bench.ports import free_ports
from bench.processes import NODE, serving
from chassis.resilience.deadlines import Clock
from tests.virtual_time import run_virtual


def sent_openly(offsets: list[float], taken: list[float]) -> list[Outcome]:
    """Open-loop load on a server that takes so many seconds for each request, one after the other."""

    async def main(clock: Clock) -> list[Outcome]:
        server = asyncio.Lock()

        async def send(index: int) -> Reply:
            async with server:
                await asyncio.sleep(taken[index])
            return Reply(200)

        return await open_loop(offsets, send, clock, asyncio.sleep)

    return run_virtual(main)


def test_stall_delays_every_request_scheduled_during_it() -> None:
    outcomes = sent_openly([0.0, 1.0, 2.0, 3.0], [10.0, 0.5, 0.5, 0.5])
    assert [outcome.ms for outcome in outcomes] == [10_000, 9_500, 9_000, 8_500]


def test_late_requests_are_timed_from_their_scheduled_send() -> None:
    async def send(index: int) -> Reply:
        return Reply(200)

    async def late_sleep(seconds: float) -> None:
        await asyncio.sleep(seconds + 2.0)

    outcomes = run_virtual(lambda clock: open_loop([0.0, 1.0], send, clock, late_sleep))
    assert [(outcome.sent_s, outcome.ms) for outcome in outcomes] == [(0.0, 0.0), (3.0, 2_000.0)]


def test_closed_loop_has_at_most_one_request_per_client() -> None:
    out, most = 0, 0

    async def send(index: int) -> Reply:
        nonlocal out, most
        out += 1
        most = max(most, out)
        await asyncio.sleep(1.0)
        out -= 1
        return Reply(200)

    outcomes = run_virtual(lambda clock: closed_loop(3, 10, send, clock))
    assert (len(outcomes), most) == (10, 3)
    assert outcomes[-1].due_s + outcomes[-1].ms / 1000 == 4.0


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0.01, 1.0))
def test_percentile_bounds_its_share_of_values(values: list[float], wanted: float) -> None:
    result = percentile(values, wanted)
    assert result in values
    assert sum(value <= result for value in values) >= wanted * len(values) - 1e-9


def test_replies_are_classified_by_reason_or_problem() -> None:
    answered = b'{"reason": "answered", "abstained": false, "degraded": ["ocr"]}'
    assert reply_of(200, answered) == Reply(200, "answered", True, ("ocr",))
    problem = b'{"type": "urn:loreglass:problem:overloaded"}'
    assert reply_of(503, problem) == Reply(503, "overloaded")
    assert reply_of(502, b"<html>") == Reply(502, "unreadable")


@pytest.mark.parametrize(
    ("reply", "ms", "fate"),
    [
        (Reply(200, "answered", True), 9_000, "full"),
        (Reply(200, "answered", True, ("reranker",)), 9_000, "degraded"),
        (Reply(200, "timed_out"), 9_000, "timed out"),
        (Reply(200, "no_evidence"), 9_000, "refused"),
        (Reply(503, "overloaded"), 5, "turned away"),
        (Reply(200, "answered", True), 10_001, "late"),
        (Reply(503, "overloaded"), 10_001, "late"),
        (Reply(0, "no reply"), 15_000, "late"),
        (Reply(500, "internal"), 5, "failed"),
        (Reply(0, "ClientOSError"), 5, "failed"),
    ],
)
def test_every_request_has_exactly_one_outcome(reply: Reply, ms: float, fate: str) -> None:
    assert fate_of(reply, ms, deadline_ms=10_000) == fate


def test_benchmark_writes_only_its_own_page(tmp_path: Path) -> None:
    (tmp_path / "two.md").write_text("Old.", "utf-8")
    table = Table(("what", "ms"), (("a", "1.0"), ("b", "2.0")), "It is quick.", ("Measured twice.",))
    about = About("one", "One", "Shows something.", "be quick.")
    write("one", page(about, [table], "make one", "a machine"), tmp_path)
    assert (tmp_path / "two.md").read_text("utf-8") == "Old."
    text = (tmp_path / "one.md").read_text("utf-8")
    for part in ("Shows something.", "be quick.", "| what | ms |", "- Measured twice.", "`make one` on a"):
        assert part in text


def test_free_ports_are_below_the_ephemeral_range() -> None:
    lent_from = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert max(free_ports(50)) < lent_from


def _calls(services_url: str) -> Counter[str]:
    counts = httpx.get(f"{services_url}/node/counts").json()
    return Counter({name: count["received"] for name, count in counts.items()})


@pytest.mark.parametrize(("name", "environment"), [(OPEA, "opea"), (HAYSTACK, "haystack")])
def test_peer_app_answers_from_all_three_services(name: str, environment: str) -> None:
    if not is_installed(environment):
        pytest.skip(f'{name} is not installed: make bench BENCH="--only peers" does that')
    with serving(*NODE) as services, peer(name, services.url) as subject:
        for kind in ("upload", "follow-up"):
            before = _calls(services.url)
            reply = ask(subject.url, subject.bodies[kind])
            for fact in ("Direct line every 12 minutes", "local", "Marrow Quay Bridge"):
                assert fact in reply
            assert _calls(services.url) - before == {"ocr": 1, "image_search": 1, "domain_router": 1}


@pytest.mark.parametrize(
    "words", [["peers", "profile"], ["--only", "peers", "profile"], ["--only", "peers", "--only", "profile"]]
)
def test_several_benchmarks_can_be_selected(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    monkeypatch.setattr(command, "_page", lambda benchmark, _: ran.append(benchmark.about.name) or "")
    app = typer.Typer()
    app.command()(command.main)
    ended = CliRunner().invoke(app, [*words, "--quick"])
    assert ended.exit_code == 0, ended.output
    assert ran == ["peers", "profile"]
