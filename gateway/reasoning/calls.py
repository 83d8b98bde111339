"""What one question asked of the model, and what it had to do without: noted where calls are made."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field


@dataclass(slots=True)
class ModelCalls:
    """Requests that one question sent to the model, those made again and those cut short included.

    Tokens: of the calls whose reply came whole. `card_ms`: expected, of calls to small models on cards.
    `without`: services that a reasoner asked in vain, and answered all the same.
    """

    count: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    card_ms: float = 0.0
    without: dict[str, None] = field(default_factory=dict)


_COUNTED: ContextVar[ModelCalls | None] = ContextVar("model_calls", default=None)


@contextmanager
def calls_counted() -> Iterator[ModelCalls]:
    """What the body asks of the model. Tasks that it starts count in the same place, other questions not."""
    calls = ModelCalls()
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


def count_card_ms(milliseconds: float) -> None:
    """A call is made that is expected to keep a card busy for so long."""
    calls = _COUNTED.get()
    if calls is not None:
        calls.card_ms += milliseconds


def did_without(service: str) -> None:
    """A reasoner asked a service in vain and goes on without it."""
    calls = _COUNTED.get()
    if calls is not None:
        calls.without[service] = None
