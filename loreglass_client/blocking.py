"""The client without an event loop: each call blocks until it is done."""

import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx

from loreglass_client.calls import Retries
from loreglass_client.client import Asking, AsyncConversation
from loreglass_client.settings import DEFAULT_URL, environment
from loreglass_client.wires import BlockingWire, Source, at_once, each_at_once

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Item = TypeVar("Item")


def _call(
    method: Callable[Concatenate[Any, Parameters], Coroutine[Any, Any, Result]],
) -> Callable[Concatenate[Any, Parameters], Result]:
    """Return the method without `await`."""

    @wraps(method)
    def call(blocking: Any, /, *args: Parameters.args, **options: Parameters.kwargs) -> Result:
        return at_once(method(blocking._async_api, *args, **options))

    return call


def _stream(
    method: Callable[Concatenate[Any, Parameters], AsyncGenerator[Item, None]],
) -> Callable[Concatenate[Any, Parameters], Generator[Item, None, None]]:
    """Return the generator's method without `await`."""

    @wraps(method)
    def stream(
        blocking: Any, /, *args: Parameters.args, **options: Parameters.kwargs
    ) -> Generator[Item, None, None]:
        return each_at_once(method(blocking._async_api, *args, **options))

    return stream


class Loreglass:
    """`AsyncLoreglass` without `await`. Threads may share it."""

    def __init__(
        self,
        base_url: str = DEFAULT_URL,
        key: str = "",
        *,
        http: httpx.Client | None = None,
        timeout_s: float = 65.0,
        retries: Retries | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._wire = BlockingWire(http, sleep)
        self._async_api = Asking(self._wire, base_url, key, timeout_s, retries or Retries(), clock)

    @classmethod
    def from_environment(cls, **options: Any) -> Self:
        """See `AsyncLoreglass.from_environment`."""
        base_url, key = environment()
        return cls(**{"base_url": base_url, "key": key, **options})

    ask = _call(Asking.ask)
    stream = _stream(Asking.stream)
    ask_in = _call(Asking.ask_in)
    speech = _call(Asking.speech)
    transcribe = _call(Asking.transcribe)
    speak = _call(Asking.speak)
    trace = _call(Asking.trace)
    search = _call(Asking.search)
    look_up = _call(Asking.look_up)
    pipelines = _call(Asking.pipelines)
    ready = _call(Asking.ready)
    forget = _call(Asking.forget)

    def conversation(self, photo: Source | None = None) -> "Conversation":
        """See `AsyncLoreglass.conversation`."""
        return Conversation(AsyncConversation(self._async_api, photo))

    def close(self) -> None:
        """Close the connections, unless they are the caller's."""
        at_once(self._wire.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Conversation:
    """`AsyncConversation` without `await`."""

    def __init__(self, async_api: AsyncConversation) -> None:
        self._async_api = async_api

    ask = _call(AsyncConversation.ask)
    stream = _stream(AsyncConversation.stream)
    forget = _call(AsyncConversation.forget)

    @property
    def session_id(self) -> str | None:
        """The gateway's id, None before the first answer."""
        return self._async_api.session_id
