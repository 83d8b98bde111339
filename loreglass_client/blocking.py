"""The client without an event loop: each call blocks until it is done."""

import time
from collections.abc import Callable, Generator, Sequence
from typing import Any, Self, Unpack

import httpx

from loreglass_client.calls import Retries
from loreglass_client.client import Asking, AsyncConversation, Options
from loreglass_client.lookup import Passage, Thing
from loreglass_client.models import Answer, Event, Experiment, Health, Trace
from loreglass_client.settings import DEFAULT_URL, environment
from loreglass_client.wires import BlockingWire, Source, at_once, each_at_once


class Loreglass:
    """`AsyncLoreglass` without `await`, which documents the methods. Threads may share it."""

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
        self._asking = Asking(self._wire, base_url, key, timeout_s, retries or Retries(), clock)

    @classmethod
    def from_environment(cls, **options: Any) -> Self:
        """See `AsyncLoreglass.from_environment`."""
        base_url, key = environment()
        return cls(**{"base_url": base_url, "key": key, **options})

    def ask(
        self, question: str | None = None, photo: Source | None = None, **options: Unpack[Options]
    ) -> Answer:
        """See `AsyncLoreglass.ask`."""
        return at_once(self._asking.ask(question, photo, **options))

    def stream(
        self, question: str | None = None, photo: Source | None = None, **options: Unpack[Options]
    ) -> Generator[Event, None, None]:
        """See `AsyncLoreglass.stream`."""
        return each_at_once(self._asking.stream(question, photo, **options))

    def ask_in(
        self,
        history: Sequence[tuple[str, str]],
        question: str,
        photo: Source | None = None,
        pipeline: str = "loreglass",
        deadline_ms: int | None = None,
        experiment: Experiment | None = None,
    ) -> Answer:
        """See `AsyncLoreglass.ask_in`."""
        return at_once(self._asking.ask_in(history, question, photo, pipeline, deadline_ms, experiment))

    def conversation(self, photo: Source | None = None) -> "Conversation":
        """See `AsyncLoreglass.conversation`."""
        return Conversation(AsyncConversation(self._asking, photo))

    def speech(self, answer: Answer) -> bytes:
        """See `AsyncLoreglass.speech`."""
        return at_once(self._asking.speech(answer))

    def transcribe(self, audio: Source, language: str | None = None) -> str:
        """See `AsyncLoreglass.transcribe`."""
        return at_once(self._asking.transcribe(audio, language))

    def speak(self, text: str, voice: str | None = None, form: str | None = None) -> bytes:
        """See `AsyncLoreglass.speak`."""
        return at_once(self._asking.speak(text, voice, form))

    def trace(self, trace_id: str) -> Trace:
        """See `AsyncLoreglass.trace`."""
        return at_once(self._asking.trace(trace_id))

    def search(self, query: str, limit: int = 5) -> list[Passage]:
        """See `AsyncLoreglass.search`."""
        return at_once(self._asking.search(query, limit))

    def look_up(self, name: str, limit: int = 5) -> list[Thing]:
        """See `AsyncLoreglass.look_up`."""
        return at_once(self._asking.look_up(name, limit))

    def pipelines(self) -> tuple[str, ...]:
        """See `AsyncLoreglass.pipelines`."""
        return at_once(self._asking.pipelines())

    def ready(self) -> Health:
        """See `AsyncLoreglass.ready`."""
        return at_once(self._asking.ready())

    def forget(self, session_id: str) -> None:
        """See `AsyncLoreglass.forget`."""
        at_once(self._asking.forget(session_id))

    def close(self) -> None:
        """Close the connections, unless they are the caller's."""
        at_once(self._wire.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Conversation:
    """`AsyncConversation` without `await`."""

    def __init__(self, talk: AsyncConversation) -> None:
        self._talk = talk

    @property
    def session_id(self) -> str | None:
        """The gateway's id, None before the first answer."""
        return self._talk.session_id

    def ask(
        self, question: str | None = None, photo: Source | None = None, **options: Unpack[Options]
    ) -> Answer:
        """See `AsyncConversation.ask`."""
        return at_once(self._talk.ask(question, photo, **options))

    def stream(
        self, question: str | None = None, photo: Source | None = None, **options: Unpack[Options]
    ) -> Generator[Event, None, None]:
        """See `AsyncConversation.stream`."""
        return each_at_once(self._talk.stream(question, photo, **options))

    def forget(self) -> None:
        """See `AsyncConversation.forget`."""
        at_once(self._talk.forget())
