"""What the VLM reasoner's tests build by hand: questions, evidence, and reasoners at a server."""

import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from PIL import Image

from bench.node import RunningServer, Script, ServerTraits, vlm_server
from chassis.http.calls import http_client
from chassis.resilience.deadlines import Deadline
from contracts.answer import CitationKind, Route
from gateway.llm.call import VlmEndpoint
from gateway.llm.client import VlmClient
from gateway.llm.options import VlmOptions
from gateway.llm.reasoner import VlmReasoner
from gateway.pipelines.qa_dragon.model import StepwiseVlmReasoner
from gateway.reasoning.port import Reasoner
from gateway.state import Context, Draft, Entity, Evidence, Photo, PhotoText, Query, TextLine, Tool, Turn

OPTIONS = VlmOptions()


def photo() -> Photo:
    """A small one."""
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), (10, 120, 20)).save(buffer, "JPEG")
    return Photo(buffer.getvalue(), 8, 8, "digest")


PHOTO = photo()
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


def draft(**changes: object) -> Draft:
    """A first look that named nothing."""
    fields: dict[str, object] = {
        "object_label": "car",
        "entity": None,
        "reasoning": "The question is about the small car.",
        "answer": None,
        "confidence": 0.0,
        "self_contained": False,
        "tools": frozenset(Tool),
        "sub_queries": (),
    }
    return Draft(**(fields | changes))  # type: ignore[arg-type]


def printed(*lines: str) -> PhotoText:
    """What OCR read, each line certain."""
    return PhotoText(
        tuple(TextLine(text, 0.99, (0.1, 0.1 * n, 0.9, 0.1 * n + 0.05)) for n, text in enumerate(lines))
    )


async def nothing_printed() -> PhotoText:
    """OCR that found no text."""
    return PhotoText()


def unheard(label: str) -> None:
    """Of a test that does not ask what was sought."""


@dataclass
class Bench:
    """Both reasoners at a scripted server."""

    server: RunningServer
    reasoner: Reasoner
    stepwise: StepwiseVlmReasoner


@asynccontextmanager
async def bench(
    script: Script, traits: ServerTraits | None = None, options: VlmOptions = OPTIONS
) -> AsyncIterator[Bench]:
    """A running server and reasoners that use it over HTTP."""
    async with vlm_server(script, traits) as server, http_client() as http:
        client = VlmClient(http, VlmEndpoint(server.url, server.model))
        yield Bench(server, VlmReasoner(client, options), StepwiseVlmReasoner(client, options))
