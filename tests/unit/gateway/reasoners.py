"""A reasoner that the test scripts: each method is a plain function that may be exchanged."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio

from chassis.resilience.deadlines import Deadline
from contracts.answer import Reason
from contracts.domain_router import Domain
from gateway.reasoning.port import ReadPhoto
from gateway.state import Context, Draft, Entity, GenerationBudget, PhotoText, Query, Quote, Reply, Tool

BOTH_TOOLS = frozenset({Tool.IMAGE_SEARCH, Tool.TEXT_SEARCH})


def lookup_draft(**changes: Any) -> Draft:
    """A draft that knows nothing yet and wants everything looked up."""
    fields: dict[str, Any] = {
        "object_label": "book",
        "entity": None,
        "reasoning": "A book.",
        "answer": None,
        "confidence": 0.0,
        "self_contained": False,
        "tools": BOTH_TOOLS,
        "sub_queries": ("{entity} author",),
    }
    return Draft(**(fields | changes))


def direct_draft(answer: str = "THE SALT ROAD", **changes: Any) -> Draft:
    """A draft that read its answer off the photo."""
    fields = {"answer": answer, "confidence": 0.95, "self_contained": True, "quotes": (answer,)}
    return lookup_draft(**{**fields, "tools": frozenset(), "sub_queries": (), **changes})


def quote_best(_: Query, context: Context) -> Reply:
    """The best piece of evidence is the answer."""
    if not context.evidence:
        return Reply(None, 0.0)
    best = context.evidence[0].text
    return Reply(best, 0.9, (Quote(0, best),))


async def at_once(_: ReadPhoto) -> None:
    """Draft without waiting for the photo's text."""


async def after_reading(read_photo: ReadPhoto) -> None:
    """Draft when the photo's text is there."""
    await read_photo()


@dataclass
class ScriptedReasoner:
    """Replies as the test says, and records its arguments."""

    first_look: Draft = field(default_factory=lookup_draft)
    before_draft: Callable[[ReadPhoto], Awaitable[None]] = at_once
    say: Callable[[Query, Context], Reply] = quote_best
    looks: bool = True
    rewritten: str = ""
    rewrites: list[Query] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)
    domains: list[Domain | None] = field(default_factory=list)
    candidates: list[tuple[Entity, ...]] = field(default_factory=list)
    contexts: list[Context] = field(default_factory=list)

    def drafts(self, query: Query) -> bool:
        return self.looks

    async def rewrite(self, query: Query, deadline: Deadline) -> str:
        self.rewrites.append(query)
        return self.rewritten

    async def draft(
        self, ask: Query, domain: Domain | None, read_photo: ReadPhoto, deadline: Deadline
    ) -> Draft:
        self.queries.append(ask)
        self.domains.append(domain)
        await self.before_draft(read_photo)
        return self.first_look

    async def select_entity(
        self,
        ask: Query,
        draft: Draft,
        candidates: Sequence[Entity],
        photo_text: PhotoText,
        deadline: Deadline,
    ) -> Entity | None:
        """The most probable one."""
        self.candidates.append(tuple(candidates))
        return candidates[0] if candidates else None

    async def answer(
        self, ask: Query, draft: Draft, context: Context, generation: GenerationBudget, deadline: Deadline
    ) -> Reply:
        self.contexts.append(context)
        return self.say(ask, context)


class FailingReasoner(ScriptedReasoner):
    """Raises `error` in the methods `steps`; without an error they hang."""

    def __init__(self, error: Exception | None, *steps: str) -> None:
        super().__init__()

        async def fail(*_: object) -> None:
            if error is None:
                await anyio.sleep_forever()
            else:
                raise error

        for step in steps:
            setattr(self, step, fail)


def unsure(reason: Reason = Reason.MODEL_UNSURE) -> ScriptedReasoner:
    """A reasoner that finds no answer, for this reason."""
    return ScriptedReasoner(say=lambda *_: Reply(None, 0.0, reason=reason))
