"""`python -m bench.gateway`: the gateway by its settings, with options for benchmarks.

`--instant-reasoner` puts a reasoner in its place that says one thing at once, so that only the platform's
own work is left; `--semaphore N` lets N requests in and keeps the others waiting, which is what many
gateways do instead of admission.
"""

import argparse
from functools import partial

import anyio
from starlette.types import ASGIApp, Receive, Scope, Send

from chassis.http.client import HttpClient
from chassis.http.serving import serve
from chassis.resilience.deadlines import Deadline
from chassis.validation import from_environment
from contracts.domain_router import Domain
from gateway.app import create_app
from gateway.reasoners import Reasoners
from gateway.reasoning.lite.reasoner import LiteReasoner
from gateway.reasoning.port import Read, ReadPhoto
from gateway.serving.guards import Guards
from gateway.settings import GatewaySettings
from gateway.state import Draft, Query
from gateway.wiring import wire


class InstantReasoner(LiteReasoner):
    """Has its draft as soon as the photo is read."""

    async def draft(
        self, query: Query, domain: Domain | None, read_photo: ReadPhoto, deadline: Deadline
    ) -> Draft:
        """Return the photo's text for any question."""
        text = (await read_photo()).plain
        return Draft(
            object_label="sign",
            entity=None,
            reasoning="The sign says it.",
            answer=text,
            confidence=0.99,
            self_contained=True,
            tools=frozenset(),
            sub_queries=(),
            quotes=(text,),
        )


def instant(settings: GatewaySettings, http: HttpClient, guards: Guards, read: Read) -> Reasoners:
    """Open the instant reasoner (`gateway.wiring.OpenReasoners`)."""
    return Reasoners(InstantReasoner(read))


class Semaphore:
    """Admits at most `limit` requests at once; the others wait without a limit."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = anyio.CapacityLimiter(limit)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != "/answer":
            await self._app(scope, receive, send)
            return
        async with self._limit:
            await self._app(scope, receive, send)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--instant-reasoner", action="store_true")
    parser.add_argument("--semaphore", type=int, default=0)
    options = parser.parse_args()
    settings = from_environment(GatewaySettings)
    app = create_app(settings, partial(wire, open_reasoners=instant) if options.instant_reasoner else wire)
    if options.semaphore:
        app.add_middleware(Semaphore, limit=options.semaphore)
    serve(app, settings)


if __name__ == "__main__":
    main()
