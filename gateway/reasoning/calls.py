"""How often one question asked the model: counted where calls are made, read where the question ends."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class ModelCalls:
    """Requests that one question sent to the model, those made again and those cut short included."""

    count: int = 0


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


def count_calls(requests: int) -> None:
    """So many requests were sent to the model; of nobody's question when they only look after the server."""
    calls = _COUNTED.get()
    if calls is not None:
        calls.count += requests
