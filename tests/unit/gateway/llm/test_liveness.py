"""A model that stops although its server lists it: readiness fails, says what to do, and recovers."""

from dataclasses import dataclass

import anyio
import pytest

from bench.node import PROBED, Fails, Reply, ScriptedRequest, says, vllm_error, vlm_server
from chassis.errors import DependencyUnavailable
from chassis.http.calls import http_client
from gateway.llm.call import VlmEndpoint
from gateway.llm.capabilities import Liveness
from gateway.llm.client import VlmClient
from gateway.llm.probe import check, keep_probing
from gateway.llm.prompt import ImagePart, Prompt, TextPart
from tests.unit.gateway.llm.stage import PHOTO, bench, deadline

pytestmark = pytest.mark.anyio

READ = Prompt("read", "You read.", (TextPart("Which year?"),), str, 20)
SEEN = Prompt("look", "You look.", (ImagePart(PHOTO.jpeg), TextPart("What?")), str, 20)


class Stop(Exception):
    """The test has seen enough."""


@dataclass
class Server:
    """A model that works, or fails at everything."""

    works: bool = True

    def reply(self, request: ScriptedRequest) -> Reply:
        if not self.works:
            return Fails(500, vllm_error(500, "CUDA error"))
        return says(PROBED if request.body.get("response_format") else "ready")


async def is_ready(client: VlmClient) -> bool:
    try:
        await client.ready(deadline())
    except DependencyUnavailable:
        return False
    return True


async def test_readiness_follows_the_model_within_a_minute() -> None:
    now, history = [0.0], list[tuple[float, bool, int]]()
    model = Server()
    async with vlm_server(model.reply) as server, http_client() as http:
        client = VlmClient(http, VlmEndpoint(server.url, server.model), clock=lambda: now[0])

        async def wait(seconds: float) -> None:
            history.append((now[0], await is_ready(client), len(server.requests)))
            now[0] += seconds
            if now[0] == 40:
                model.works = False
            if now[0] == 100:
                model.works = True
            if now[0] == 150:
                raise Stop
            await anyio.lowlevel.checkpoint()

        try:
            await keep_probing([client], wait)
        except* Stop:
            pass
        checks = [request for request in server.requests if request.body["max_tokens"] == 1]
    ready = {at: is_ready for at, is_ready, _ in history}
    assert ready[35.0]
    assert not ready[95.0]
    assert next(at for at, is_ready in ready.items() if not is_ready) <= 40 + 30
    assert ready[100.0]
    requests = {at: requests for at, _, requests in history}
    assert requests[25.0] == requests[0.0]  # no check while the last reply is fresh
    assert requests[30.0] == requests[0.0] + 1
    assert {request.system for request in checks} == {server.requests[0].system}  # one cached beginning


def test_idle_model_is_checked_only_between_calls() -> None:
    now = [0.0]
    liveness = Liveness(lambda: now[0])
    assert not liveness.check_due
    now[0] = 30.0
    assert liveness.check_due
    with liveness.call():
        assert not liveness.check_due
    liveness.answered()
    assert not liveness.check_due
    liveness.doubt()
    assert liveness.check_due
    assert not liveness.failing


async def test_failed_text_call_triggers_a_check_and_failed_photo_does_not() -> None:
    model = Server(works=False)
    async with bench(model.reply) as it:
        client = it.client
        with pytest.raises(DependencyUnavailable):
            await client.complete(SEEN, deadline())
        assert not client.liveness.check_due
        with pytest.raises(DependencyUnavailable):
            await client.complete(READ, deadline())
        assert client.liveness.check_due
        assert await is_ready(client)
        await check(client)
        with pytest.raises(DependencyUnavailable, match=r"The model does not answer\..*restart it"):
            await client.ready(deadline())
        model.works = True
        await client.complete(READ, deadline())  # any reply tells that it is back
        assert await is_ready(client)


async def test_readiness_names_an_address_or_a_model_that_is_wrong() -> None:
    async with vlm_server({}) as server, http_client() as http:
        with pytest.raises(DependencyUnavailable, match="does not list the model that is set"):
            await VlmClient(http, VlmEndpoint(server.url, "another")).ready(deadline())
        gone = server.url
    async with http_client() as http:
        with pytest.raises(DependencyUnavailable, match="Start it, or correct the address"):
            await VlmClient(http, VlmEndpoint(gone, "m")).ready(deadline())
