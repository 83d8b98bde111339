"""A whole gateway in front of a scripted model server, what that model says, and fake services."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx

from bench.node import RunningServer, Script, ServerTraits, says, vlm_server
from contracts.answer import Answer
from gateway.reasoners import OpenReasoners, open_reasoners
from gateway.settings import Reasoning
from tests.unit.gateway.fakes import AUTHOR, BOOK, FakeServices
from tests.unit.gateway.platform import gateway_before

Ask = Callable[..., Awaitable[Answer]]


@asynccontextmanager
async def asking(
    script: Script,
    traits: ServerTraits | None = None,
    *,
    probed: bool = True,
    reasoners: OpenReasoners = open_reasoners,
    **settings: Any,
) -> AsyncIterator[tuple[httpx.AsyncClient, RunningServer, Ask]]:
    """Start a gateway with these settings and, if `probed`, wait until it has probed the model's server."""
    async with vlm_server(script, traits) as server:
        model = {"reasoning": Reasoning.VLM, "vlm_url": server.url, "vlm_model": server.model}
        async with gateway_before(FakeServices(), reasoners=reasoners, **{**model, **settings}) as world:

            async def ask(question: str, **fields: str) -> Answer:
                return await world.ask(question, **{"deadline_ms": "60000", **fields})

            while probed and not (await world.client.get("/info")).json().get("model", {}).get("schema"):
                await anyio.lowlevel.checkpoint()
            yield world.client, server, ask


UNKNOWN = {
    "reasoning": [f"The cover says {BOOK}.", "I cannot determine who wrote it."],
    "image_search": "book",
    "text_search": ["Who wrote {entity}?"],
}
SURE: dict[str, Any] = {"probability": 0.98}


def replies(look: dict[str, Any], label: str = "book") -> dict[str, Any]:
    """A model that finds the author in the evidence. `label`: the kind of thing that `qa-dragon` sees."""
    thought = {"object_label": label, "entity": None, "answer": None, "answerability": "look_up"}
    thought |= {key: held for key, held in look.items() if not key.endswith("_search")}
    return {
        "understand": says(look, **SURE),
        "chain_of_thought": says(thought, **SURE),
        "choose_tools": says({"reason": "Both.", "tools": ["image_search", "text_search"]}, **SURE),
        "list_objects": says({"objects": ["poster", "mug"]}, **SURE),
        "select_object": says({"reason": "In front.", "object_label": "poster"}, **SURE),
        "match_entity": says({"reason": "The title.", "candidate": 1}, **SURE),
        "split_query": says({"reason": "One fact.", "queries": ["Who wrote {entity}?"]}, **SURE),
        "enhance_queries": says({"queries": [f"Who wrote {BOOK}?"]}, **SURE),
        "answer": says(AUTHOR, **SURE),
        "answer_with_reasons": says(AUTHOR, **SURE),
        "judge": says("yes", **SURE),
    }
