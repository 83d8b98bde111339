"""Questions, evidence, and a client with its reasoners at a scripted server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from PIL import Image

from bench.node import RunningServer, Script, ServerTraits, vlm_server
from chassis.http.calls import http_client
from chassis.resilience.deadlines import Deadline
from chassis.resilience.guard import Guard
from contracts.answer import CitationKind, Route
from gateway.llm.call import VlmCall, VlmEndpoint
from gateway.llm.client import VlmClient
from gateway.llm.prompt import VlmOptions
from gateway.llm.reasoner import VlmReasoner
from gateway.pipelines.qa_dragon.model import StepwiseVlmReasoner
from gateway.pipelines.three_step.model import ThreeStepVlmReasoner
from gateway.pipelines.wiki_prf.model import WikiPrfVlmReasoner
from gateway.state import Context, Entity, Evidence, Photo, PhotoText, Query, TextLine, Turn
from tests.unit.chassis.pictures import encoded
from tests.unit.gateway.reasoners import lookup_draft

OPTIONS = VlmOptions()


PHOTO = Photo(encoded(Image.new("RGB", (8, 8), (10, 120, 20)), "JPEG"), 8, 8, "digest")
ASK = Query("Which city is the company from?", PHOTO)
FOLLOW_UP = Query(
    "And how long is it?",
    PHOTO,
    photo_is_new=False,
    history=(
        Turn("What car is this?", "It is a Fiat 500.", False, Entity("Fiat 500", 0.9)),
        Turn("Who designed it?", "I don't know.", True),
    ),
)


def deadline(ms: float = 60_000) -> Deadline:
    """Time enough."""
    return Deadline.after_ms(ms)


def page(text: str, title: str = "") -> Evidence:
    """A chunk of a web page."""
    return Evidence(text, title, "https://example.org/page", CitationKind.PAGE, 0.8)


def context(*evidence: Evidence, entity: Entity | None = None) -> Context:
    """What a rag route has found."""
    return Context(Route.RAG, entity, PhotoText(), evidence)


draft = partial(lookup_draft, object_label="car", sub_queries=())
"""A first look that named nothing."""


def printed(*lines: str) -> PhotoText:
    """What OCR read, each line certain."""
    return PhotoText(
        tuple(TextLine(text, 0.99, (0.1, 0.1 * n, 0.9, 0.1 * n + 0.05)) for n, text in enumerate(lines))
    )


async def nothing_printed() -> PhotoText:
    """OCR that found no text."""
    return PhotoText()


@dataclass
class Bench:
    """A client at a scripted server, its calls as metrics see them, and every reasoner that uses it."""

    server: RunningServer
    client: VlmClient
    options: VlmOptions
    calls: list[VlmCall]

    def __post_init__(self) -> None:
        self.reasoner = VlmReasoner(self.client, self.options)
        self.stepwise = StepwiseVlmReasoner(self.client, self.options)
        self.three_step = ThreeStepVlmReasoner(self.client, self.options)
        self.wiki_prf = WikiPrfVlmReasoner(self.client, self.options)

    def shown(self) -> str:
        """The last request's text."""
        return self.server.requests[-1].text


@asynccontextmanager
async def bench(
    script: Script,
    traits: ServerTraits | None = None,
    options: VlmOptions = OPTIONS,
    guard: Guard | None = None,
    **endpoint: Any,
) -> AsyncIterator[Bench]:
    """A running server, and what uses it over HTTP. `endpoint`: changes to `VlmEndpoint`."""
    async with vlm_server(script, traits) as server, http_client() as http:
        calls: list[VlmCall] = []
        settings = VlmEndpoint(**({"base_url": server.url, "model": server.model} | endpoint))
        yield Bench(server, VlmClient(http, settings, calls.append, guard), options, calls)
