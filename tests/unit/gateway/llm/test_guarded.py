"""The model behind a guard, and connections that were closed meanwhile."""

from collections.abc import Mapping

import pytest
from pydantic import BaseModel

from bench.node import Reply, context_too_long, fails, overloaded, says
from chassis.errors import DependencyUnavailable, LoreglassError, Overloaded
from chassis.http.client import Endpoint, ExchangeError
from chassis.resilience.breaker import Breaker, BreakerState, RetryBudget
from chassis.resilience.gates import Gate
from chassis.resilience.guard import Guard, GuardEvent, Outcome
from contracts import headers
from gateway.llm.client import VlmClient
from gateway.llm.prompt import Prompt, TextPart
from gateway.llm.server import ContextTooLong, VlmReplyUnusable
from tests.scripted_http import Scripted, ScriptedHttp
from tests.unit.gateway.llm.stage import READ, bench, deadline
from tests.unit.gateway.llm.test_hostile_server import client_of


class Word(BaseModel):
    """One word."""

    word: str


PROMPT = Prompt(name="word", system="Say one word.", user=(TextPart("Which?"),), schema=Word, max_tokens=20)
GOOD = says({"word": "tea"})


class Watched:
    """A guard with room for one call at a time, and what it told."""

    def __init__(self, retries: RetryBudget | None = None) -> None:
        self.events: list[GuardEvent] = []
        self.breaker, gate = Breaker(2), Gate("vlm", 1, 4)
        self.guard = Guard(
            "vlm", breaker=self.breaker, gate=gate, retries=retries, observe=self.events.append
        )


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (says("Sorry."), VlmReplyUnusable),
        (context_too_long(), ContextTooLong),
        (fails(400, {"error": {"message": "no", "param": "messages"}}), DependencyUnavailable),
        (overloaded(), Overloaded),
    ],
    ids=["unreadable", "context", "refused", "busy"],
)
async def test_request_and_reply_errors_do_not_open_the_breaker(
    reply: Reply, error: type[LoreglassError]
) -> None:
    watched = Watched(retries=RetryBudget(1.0))
    async with bench({"word": reply}, guard=watched.guard) as it:
        for _ in range(5):
            with pytest.raises(error):
                await it.client.complete(PROMPT, deadline())
    assert watched.breaker.state is BreakerState.CLOSED
    assert {event.attempts for event in watched.events} == {1}


async def test_failing_server_opens_the_breaker() -> None:
    watched, failing = Watched(), fails(500, {"error": {"message": "out of memory"}})
    async with bench({"word": failing}, guard=watched.guard) as it:
        for _ in range(4):
            with pytest.raises(DependencyUnavailable):
                await it.client.complete(PROMPT, deadline())
        assert len(it.server.requests) == 2
    assert [event.outcome for event in watched.events] == [Outcome.UNAVAILABLE] * 2 + [Outcome.OPEN] * 2
    assert [call.requests for call in it.calls] == [1, 1, 0, 0]


async def test_lost_connection_is_retried_within_the_budget() -> None:
    script = {"word": [says({"word": "tea"}, drop_after=2), GOOD]}
    async with bench(script, guard=Watched(retries=RetryBudget()).guard) as it:
        assert (await it.client.complete(PROMPT, deadline())).value.word == "tea"
    assert [call.requests for call in it.calls] == [2]


async def test_remaining_time_is_sent_to_the_server() -> None:
    remaining_ms: list[int] = []

    async def handle(_: str, sent: Mapping[str, str]) -> Scripted:
        remaining_ms.append(int(sent[headers.DEADLINE]))
        raise ExchangeError

    client = VlmClient(ScriptedHttp(handle), Endpoint("http://vlm", "m"))
    with pytest.raises(DependencyUnavailable):
        await client.complete(PROMPT, deadline())
    assert 0 < remaining_ms[0] <= 60_000


CHUNKED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


async def test_stale_connection_is_replaced() -> None:
    stream = b'data: {"choices":[{"delta":{"content":"one"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    requests: list[bytes] = []
    async with client_of(
        CHUNKED + b"%x\r\n%b\r\n0\r\n\r\n" % (len(stream), stream), requests=requests
    ) as client:
        for _ in range(20):
            assert (await client.complete(READ, deadline(10_000))).text == "one"
    assert len(requests) == 20


async def test_empty_reply_on_a_new_connection_is_not_retried() -> None:
    requests: list[bytes] = []
    async with client_of(b"", requests=requests) as client:
        with pytest.raises(DependencyUnavailable):
            await client.complete(READ, deadline(10_000))
    assert len(requests) == 1
