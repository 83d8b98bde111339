"""The gateway on an event loop."""

import base64
import json
import time
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Any, Self, TypedDict, Unpack
from urllib.parse import quote, urlencode

import anyio
import httpx
from pydantic import BaseModel

from loreglass_client.calls import Call, Retries
from loreglass_client.errors import BrokenReply, InvalidRequest, NotConfigured, SessionNotFound, Unreachable
from loreglass_client.models import (
    Answer,
    Event,
    Experiment,
    Health,
    Passage,
    Passages,
    Thing,
    Things,
    Trace,
)
from loreglass_client.settings import DEFAULT_URL, environment
from loreglass_client.wires import AsyncWire, BlockingWire, Source

_GRACE_S = 5.0  # the gateway keeps the deadline; this is for the reply's way back
_BYTES = "application/octet-stream"
_OURS = "loreglass"


class Options(TypedDict, total=False):
    """Options of a question. `audio`: the question as sound. `session_id`: continue a conversation.
    `deadline_ms`: how long to wait, retries included; the reply may take 5 s more to arrive. `pipeline`: one
    of `pipelines`. `idempotency_key`: questions with the same key are answered once; by default each call
    makes a key of its own. `memory`: consent to remember what is seen, and to answer from it: `id`, and
    perhaps `place` and `utc_offset_min`.
    """

    audio: Source | None
    session_id: str | None
    deadline_ms: int | None
    pipeline: str | None
    experiment: Experiment | None
    idempotency_key: str | None
    memory: Mapping[str, str | int] | None


class Asking:
    """All calls to a gateway. `wire`: an event loop's, or one that blocks."""

    def __init__(
        self,
        wire: AsyncWire | BlockingWire,
        base_url: str,
        key: str,
        timeout_s: float,
        retries: Retries,
        clock: Callable[[], float],
    ) -> None:
        try:
            url = httpx.URL(base_url)
        except httpx.InvalidURL as error:
            raise Unreachable(f"Not a URL: {base_url}. Example: http://127.0.0.1:7100") from error
        if url.scheme not in ("http", "https") or not url.host:
            host = base_url.rpartition("//")[2] or "127.0.0.1:7100"
            raise Unreachable(f"Not a URL: {base_url}. Did you mean http://{host}?")
        self._wire = wire
        self._base_url = base_url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._timeout_s = timeout_s
        self._retries = retries
        self._clock = clock

    async def ask(
        self, question: str | None = None, photo: Source | None = None, **options: Unpack[Options]
    ) -> Answer:
        """Answer a question about `photo`, or about the session's photo."""
        return await (await self._answer("application/json", question, photo, options)).read(Answer)

    async def stream(
        self, question: str | None = None, photo: Source | None = None, **options: Unpack[Options]
    ) -> AsyncGenerator[Event, None]:
        """As `ask`, but yields events as they happen; the last one is the `Answer`."""
        call = await self._answer("text/event-stream", question, photo, options)
        async with aclosing(call.events()) as events:
            async for event in events:
                yield event

    async def ask_in(
        self,
        history: Sequence[tuple[str, str]],
        question: str,
        photo: Source | None = None,
        pipeline: str = _OURS,
        deadline_ms: int | None = None,
        experiment: Experiment | None = None,
    ) -> Answer:
        """Answer the next question of a conversation that the caller stores, about its one photo.

        `history`: (question, answer) pairs, oldest first; the gateway reads the newest ones and stores
        nothing. Unlike a session it does not remember the entity. There is no idempotency key: if the reply
        is lost, the question is answered anew.
        """
        messages: list[dict[str, Any]] = [
            {"role": role, "content": text}
            for turn in history
            for role, text in zip(("user", "assistant"), turn, strict=True)
        ]
        messages.append({"role": "user", "content": question})
        if photo is not None:
            content = base64.b64encode(await self.bytes_of(photo)).decode()
            image = {"type": "image_url", "image_url": {"url": f"data:{_BYTES};base64,{content}"}}
            messages[0]["content"] = [{"type": "text", "text": messages[0]["content"]}, image]
        body = {"model": pipeline, "messages": messages}
        body |= _without_none(deadline_ms=deadline_ms, experiment=_plain(experiment))
        call = self._call("POST", "/v1/chat/completions", deadline_ms, json=body)
        return (await call.read(_Completion)).loreglass

    async def speech(self, answer: Answer) -> bytes:
        """Return the sound of an answer, for a short time after it. Raises `NotConfigured` without speech."""
        if answer.speech is None:
            raise NotConfigured("This answer has no sound: no voice is set up at the gateway.")
        if not answer.speech.startswith("/"):
            raise BrokenReply("The gateway names an address of sound that is not its own.")
        return await self._call("GET", answer.speech).whole()

    async def transcribe(self, audio: Source, language: str | None = None) -> str:
        """Transcribe a sound file."""
        files = {"file": ("sound", await self.bytes_of(audio), _BYTES)}
        fields = _without_none(model=_OURS, language=language)
        call = self._call("POST", "/v1/audio/transcriptions", files=files, data=fields)
        return (await call.read(_Transcription)).text

    async def speak(self, text: str, voice: str | None = None, form: str | None = None) -> bytes:
        """Return the sound of a text. `form`: `wav`, `mp3` or another format of the speech server."""
        body = _without_none(model=_OURS, input=text, voice=voice, response_format=form)
        return await self._call("POST", "/v1/audio/speech", json=body).whole()

    async def trace(self, trace_id: str) -> Trace:
        """Return what happened to one request, stage by stage."""
        return await self._call("GET", f"/traces/{quote(trace_id, safe='')}").read(Trace)

    async def search(self, query: str, limit: int = 5) -> list[Passage]:
        """Return the passages of indexed pages that fit best, from a platform of `loreglass serve`."""
        path = f"/v1/search?{urlencode({'q': query, 'limit': limit})}"
        return (await self._call("GET", path).read(Passages)).passages

    async def look_up(self, name: str, limit: int = 5) -> list[Thing]:
        """Return the facts of indexed things by name, from a platform of `loreglass serve`."""
        path = f"/v1/things?{urlencode({'name': name, 'limit': limit})}"
        return (await self._call("GET", path).read(Things)).things

    async def pipelines(self) -> tuple[str, ...]:
        """Return the names of the pipelines, the default first."""
        return tuple(model.id for model in (await self._call("GET", "/v1/models").read(_Models)).data)

    async def ready(self) -> Health:
        """Return the gateway's health checks. Raises `NotReady` if it cannot work."""
        return await self._call("GET", "/health/ready").read(Health)

    async def forget(self, session_id: str) -> None:
        """Delete a conversation with its photo. No error if it is already gone."""
        with suppress(SessionNotFound):  # a retry may find it deleted
            await self._call("DELETE", f"/sessions/{quote(session_id, safe='')}").whole()

    async def bytes_of(self, source: Source) -> bytes:
        """Read a file completely."""
        return await self._wire.read(source)

    async def _answer(
        self, accept: str, question: str | None, photo: Source | None, options: Options
    ) -> Call:
        experiment = _plain(options.get("experiment"))
        fields = _without_none(**{**options, "question": question, "experiment": experiment})
        key = fields.pop("idempotency_key", None) or uuid.uuid4().hex
        sources = _without_none(image=photo, audio=fields.pop("audio", None))
        files = {name: (name, await self.bytes_of(each), _BYTES) for name, each in sources.items()}
        body: dict[str, Any] = {"json": fields}
        if files:
            texts = {name: v if isinstance(v, str) else json.dumps(v) for name, v in fields.items()}
            body = {"files": files, "data": texts}
        headers = {"Accept": accept, "Idempotency-Key": key}
        return self._call("POST", "/answer", options.get("deadline_ms"), headers, **body)

    def _call(
        self,
        method: str,
        path: str,
        deadline_ms: int | None = None,
        headers: Mapping[str, str] | None = None,
        **content: Any,
    ) -> Call:
        headers = {**self._headers, **(headers or {})}
        try:
            request = self._wire.build(method, self._base_url + path, headers=headers, **content)
        except (UnicodeError, httpx.InvalidURL) as error:
            raise InvalidRequest("A text in the request cannot be sent: it is no valid Unicode.") from error
        patience_s, grace_s = self._timeout_s, 0.0
        if deadline_ms is not None:
            patience_s = min(max(deadline_ms / 1000, 0.0), self._timeout_s)
            grace_s = min(_GRACE_S, self._timeout_s - patience_s)
        return Call(self._wire, request, patience_s, grace_s, self._retries, self._clock)


class AsyncLoreglass(Asking):
    """Client of a gateway. Use it as an async context manager, or `aclose` it.

    `key`: if the gateway requires one. `http`: a client that you close yourself. `timeout_s`: the longest
    time for a call with all its retries, unless `deadline_ms` is shorter. All methods raise
    `LoreglassError`s only, and `OSError` for files. `clock`, `sleep`: replaced in tests.
    """

    def __init__(
        self,
        base_url: str = DEFAULT_URL,
        key: str = "",
        *,
        http: httpx.AsyncClient | None = None,
        timeout_s: float = 65.0,
        retries: Retries | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
    ) -> None:
        super().__init__(AsyncWire(http, sleep), base_url, key, timeout_s, retries or Retries(), clock)

    @classmethod
    def from_environment(cls, **options: Any) -> Self:
        """Create a client from `LOREGLASS_GATEWAY_URL` and `LOREGLASS_API_KEY`."""
        base_url, key = environment()
        return cls(**{"base_url": base_url, "key": key, **options})

    def conversation(self, photo: Source | None = None) -> "AsyncConversation":
        """Start a conversation; its first question sends the photo."""
        return AsyncConversation(self, photo)

    async def aclose(self) -> None:
        """Close the connections, unless they are the caller's."""
        await self._wire.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class AsyncConversation:
    """A conversation. `session_id`: the gateway's id, None before the first answer."""

    def __init__(self, asking: Asking, photo: Source | None) -> None:
        self.session_id: str | None = None
        self._asking = asking
        self._photo = photo

    async def ask(
        self, question: str | None = None, photo: Source | None = None, **options: Unpack[Options]
    ) -> Answer:
        """Answer the next question. `photo`: a new one, from now on."""
        answer = await self._asking.ask(
            question, await self._photo_bytes(photo), **self._with_session(options)
        )
        self._update(answer)
        return answer

    async def stream(
        self, question: str | None = None, photo: Source | None = None, **options: Unpack[Options]
    ) -> AsyncGenerator[Event, None]:
        """As `ask`, but yields events as they happen."""
        data = await self._photo_bytes(photo)
        async with aclosing(self._asking.stream(question, data, **self._with_session(options))) as events:
            async for event in events:
                if isinstance(event, Answer):
                    self._update(event)
                yield event

    async def forget(self) -> None:
        """Delete it; the next question starts a new one without a photo."""
        session_id, self.session_id, self._photo = self.session_id, None, None
        if session_id is not None:
            await self._asking.forget(session_id)

    async def _photo_bytes(self, photo: Source | None) -> bytes | None:
        """Return the photo to send. Until a turn is stored, it may have to be sent again."""
        source = self._photo if photo is None else photo
        self._photo = None if source is None else await self._asking.bytes_of(source)
        return self._photo

    def _with_session(self, options: Options) -> Options:
        return {"session_id": self.session_id, **options}

    def _update(self, answer: Answer) -> None:
        if "session" not in answer.degraded:  # otherwise the turn was not stored
            self.session_id, self._photo = answer.session_id, None


class _Completion(BaseModel):
    loreglass: Answer


class _Transcription(BaseModel):
    text: str


class _Model(BaseModel):
    id: str


class _Models(BaseModel):
    data: list[_Model]


def _without_none(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _plain(experiment: Experiment | None) -> dict[str, Any] | None:
    return None if experiment is None else experiment.model_dump(exclude_defaults=True)
