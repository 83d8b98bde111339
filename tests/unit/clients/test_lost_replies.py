"""A reply that is lost on its way: the question is sent again, and answered once."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import httpx
import pytest
from anyio.abc import SocketAttribute, SocketStream

from contracts.answer import Reason, Route
from gateway.state import Query
from gateway.steps.conclusion import Outcome
from loreglass_client import AsyncLoreglass, Retries
from tests.unit.clients.scripted_gateway import ScriptedPipeline, scripted_gateway
from tests.unit.clients.test_client import photo

pytestmark = pytest.mark.anyio


class Network:
    """Carries bytes to the gateway and back; the first `cuts` connections end where the reply begins."""

    def __init__(self, url: str, cuts: int) -> None:
        self._to = httpx.URL(url)
        self.cuts = cuts
        self.carried = 0

    async def carry(self, caller: SocketStream) -> None:
        self.carried += 1
        cut = self.carried <= self.cuts
        async with (
            caller,
            await anyio.connect_tcp(self._to.host, self._to.port or 0) as gateway,
            anyio.create_task_group() as group,
        ):
            group.start_soon(self._pass, caller, gateway)
            if cut:
                await gateway.receive()  # it has answered: the reply is lost on its way
            else:
                await self._pass(gateway, caller)
            group.cancel_scope.cancel()

    async def _pass(self, origin: SocketStream, to: SocketStream) -> None:
        try:
            async for piece in origin:
                await to.send(piece)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return


@asynccontextmanager
async def behind_a_bad_network(
    pipeline: ScriptedPipeline, cuts: int
) -> AsyncIterator[tuple[AsyncLoreglass, Network]]:
    async with scripted_gateway(pipeline) as url:
        network = Network(url, cuts)
        async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
            port = listener.extra(SocketAttribute.local_port)
            retries = Retries(first_s=0.001, longest_s=0.001)
            async with (
                anyio.create_task_group() as group,
                AsyncLoreglass(f"http://127.0.0.1:{port}", retries=retries) as client,
            ):
                group.start_soon(listener.serve, network.carry)
                yield client, network
                group.cancel_scope.cancel()


def numbered() -> ScriptedPipeline:
    """Every time that it is asked, it says something else."""
    asked: list[Query] = []

    def say(ask: Query) -> Outcome:
        asked.append(ask)
        return Outcome(f"answer {len(asked)}", Reason.ANSWERED, 0.9, Route.RAG)

    return ScriptedPipeline(say)


async def test_ten_questions_whose_replies_are_lost_are_answered_once_each() -> None:
    pipeline = numbered()
    async with behind_a_bad_network(pipeline, cuts=3) as (client, network):
        answers = [await client.ask(f"question {n}", photo()) for n in range(10)]
    assert [answer.answer for answer in answers] == [f"answer {n}" for n in range(1, 11)]
    assert len(pipeline.asked) == 10
    assert network.carried >= 4
