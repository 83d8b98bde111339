"""The model calls of one question, and the services that it did without, noted where calls are made."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from contracts.answer import ModelCall

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


_COUNTED: ContextVar[ModelCalls | None] = ContextVar("model_calls", default=None)


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
    """So many requests were sent to the model; of nobody's question when they only look after the server."""
    calls = _COUNTED.get()
    if calls is not None:
        calls.count += requests
        calls.prompt_tokens += prompt_tokens
        calls.completion_tokens += completion_tokens


def keep_call(describe: Callable[[], ModelCall]) -> None:
    """Keep a call that got a reply, if somebody asked for them: only then is `describe` called."""
    calls = _COUNTED.get()
    if calls is not None and calls.words is not None and len(calls.words) < MOST_KEPT:
        calls.words.append(describe())


def note_missing(service: str) -> None:
    """A reasoner asked a service in vain and goes on without it."""
    calls = _COUNTED.get()
    if calls is not None:
        calls.without[service] = None
