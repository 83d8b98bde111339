"""The interface of a reasoner: a VLM or, in the lite profile, an adapter of the reader service.

The model calls of a question, and the services that it did without, are noted where calls are made.
"""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Protocol

from chassis.resilience.deadlines import Deadline
from contracts.answer import ModelCall
from contracts.domain_router import Domain
from gateway.state import (
    Context,
    Draft,
    Entity,
    GenerationBudget,
    PhotoText,
    Query,
    Reading,
    Reply,
    ToRead,
)

ReadPhoto = Callable[[], Awaitable[PhotoText]]
"""Waits for the OCR that already runs; awaiting it twice is free."""


Read = Callable[[str, Sequence[ToRead], str | None, Deadline], Awaitable[Sequence[Reading]]]
"""The reader service: returns the best answer to a question in the passages, if any; see `Services.read`."""


class Answering(Protocol):
    """A reasoner that answers from evidence.

    Every method may raise what `chassis.errors` declares; none of them keeps state between calls.
    """

    def drafts(self, query: Query) -> bool:
        """Return whether this reasoner can draft for the question: a model needs a photo that it sees."""

    async def rewrite(self, query: Query, deadline: Deadline) -> str:
        """Return a follow-up question in words that need no conversation."""

    async def answer(
        self, query: Query, draft: Draft, context: Context, generation: GenerationBudget, deadline: Deadline
    ) -> Reply:
        """Return the answer that the evidence supports, with the quotes it rests on, or an honest None.

        `generation` bounds what a model reads and writes for it.
        """


class Reasoner(Answering, Protocol):
    """The reasoner of the default pipeline."""

    async def draft(
        self, query: Query, domain: Domain | None, read_photo: ReadPhoto, deadline: Deadline
    ) -> Draft:
        """A first look: what is asked, a provisional answer, and what must be looked up.

        `domain`: the question's, if it is known by now.
        """

    async def select_entity(
        self,
        query: Query,
        draft: Draft,
        candidates: Sequence[Entity],
        photo_text: PhotoText,
        deadline: Deadline,
    ) -> Entity | None:
        """Return the candidate that the question is about and that is really there, or None (3.4.4)."""


MOST_KEPT = 32


@dataclass(slots=True)
class ModelCalls:
    """Requests that one question sent to the model, those made again and those cut short included.

    Tokens: of the calls whose reply came whole. `without`: services that a reasoner asked in
    vain, and answered all the same. `words`: what was asked and written, where somebody wants to know; else
    None.
    """

    count: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    without: dict[str, None] = field(default_factory=dict)
    words: list[ModelCall] | None = None


_COUNTED: ContextVar[ModelCalls] = ContextVar("model_calls")


@contextmanager
def counting_calls(*, keep: bool = False) -> Iterator[ModelCalls]:
    """Count the model calls of the body and of tasks that it starts, not those of other questions.

    `keep`: words too, of the first `MOST_KEPT` calls.
    """
    calls = ModelCalls(words=[] if keep else None)
    token = _COUNTED.set(calls)
    try:
        yield calls
    finally:
        _COUNTED.reset(token)


def count_calls(requests: int, prompt_tokens: int = 0, completion_tokens: int = 0) -> None:
    """Count requests to the model and their tokens for the current question, if there is one."""
    calls = _COUNTED.get(ModelCalls())
    calls.count += requests
    calls.prompt_tokens += prompt_tokens
    calls.completion_tokens += completion_tokens


def keep_call(describe: Callable[[], ModelCall]) -> None:
    """Keep a call that got a reply, if somebody asked for them: only then is `describe` called."""
    words = _COUNTED.get(ModelCalls()).words
    if words is not None and len(words) < MOST_KEPT:
        words.append(describe())


def note_missing(service: str) -> None:
    """Note that a reasoner goes on without a service that failed."""
    _COUNTED.get(ModelCalls()).without[service] = None
