"""The gateway on an event loop."""

import base64
import json
import time
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Any, Self, TypedDict, Unpack
from urllib.parse import quote

import anyio
import httpx
from pydantic import BaseModel

from loreglass_client.calls import Call, Retries
from loreglass_client.errors import BrokenReply, InvalidRequest, NotConfigured, SessionNotFound, Unreachable
from loreglass_client.models import Answer, Event, Experiment, Health, Trace
from loreglass_client.settings import DEFAULT_URL, environment
from loreglass_client.wires import AsyncWire, BlockingWire, Source

_GRACE_S = 5.0  # the gateway keeps the deadline; this is for the reply's way back
_BYTES = "application/octet-stream"
_OURS = "loreglass"


class Options(TypedDict, total=False):
    """How to ask. `audio`: the question as sound, in place of words. `session_id`: go on with this
    conversation. `deadline_ms`: how long the caller will wait, retries included; the reply's way back may
    take 5 s more. `pipeline`: who answers (see `pipelines`). `idempotency_key`: the question's name, under
    which it is answered once however often it is sent; each call makes one of its own where none is given.
    """

    audio: Source | None
    session_id: str | None
    deadline_ms: int | None
    pipeline: str | None
    experiment: Experiment | None
    idempotency_key: str | None


class Asking:
    """All calls to a gateway; `wire` says whether they wait on an event loop or block."""

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
        """The answer to a question about `photo`, or about the session's photo."""
        return await (await self._answer("application/json", question, photo, options)).read(Answer)

    async def stream(
        self, question: str | None = None, photo: Source | None = None, **options: Unpack[Options]
    ) -> AsyncGenerator[Event, None]:
        """As `ask`, but yields what happens as it happens; the last event is the `Answer`."""
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
        """The answer to the next question of a conversation that the caller keeps, about its one photo.

        `history`: (question, answer) pairs, oldest first; the gateway reads the newest of many. Nothing of
        it is kept, and what a session knows of the thing beyond those words is not known here. It has no
        idempotency key: where a reply was lost, the question is worked on again.
        """
        messages: list[dict[str, Any]] = [
            {"role": role, "content": text}
            for turn in history
            for role, text in zip(("user", "assistant"), turn, strict=True)
        ]
        messages.append({"role": "user", "content": question})
        if photo is not None:
            content = base64.b64encode(await self.bytes_of(photo)).decode()
            shown = {"type": "image_url", "image_url": {"url": f"data:{_BYTES};base64,{content}"}}
            messages[0]["content"] = [{"type": "text", "text": messages[0]["content"]}, shown]
        asked = {"model": pipeline, "messages": messages}
        asked |= _given(deadline_ms=deadline_ms, experiment=_plain(experiment))
        call = self._call("POST", "/v1/chat/completions", deadline_ms, json=asked)
        return (await call.read(_Completion)).loreglass

    async def speech(self, answer: Answer) -> bytes:
        """The sound of an answer, for a short time after it. Raises `NotConfigured` where there is none."""
        if answer.speech is None:
            raise NotConfigured("This answer has no sound: no voice is set up at the gateway.")
        if not answer.speech.startswith("/"):
            raise BrokenReply("The gateway names an address of sound that is not its own.")
        return await self._call("GET", answer.speech).whole()

    async def transcribe(self, audio: Source, language: str | None = None) -> str:
        """What is said in a sound file."""
        files = {"file": ("sound", await self.bytes_of(audio), _BYTES)}
        fields = _given(model=_OURS, language=language)
        call = self._call("POST", "/v1/audio/transcriptions", files=files, data=fields)
        return (await call.read(_Transcription)).text

    async def speak(self, text: str, voice: str | None = None, form: str | None = None) -> bytes:
        """The sound of a text; `form`: `wav`, `mp3` or another that the gateway's voice makes."""
        asked = _given(model=_OURS, input=text, voice=voice, response_format=form)
        return await self._call("POST", "/v1/audio/speech", json=asked).whole()

    async def trace(self, trace_id: str) -> Trace:
        """What happened to one request, stage by stage."""
        return await self._call("GET", f"/traces/{quote(trace_id, safe='')}").read(Trace)

    async def pipelines(self) -> tuple[str, ...]:
        """Who can be asked, by name; in the gateway's order."""
        return tuple(model.id for model in (await self._call("GET", "/v1/models").read(_Models)).data)

    async def ready(self) -> Health:
        """What the gateway tried just now. Raises `NotReady` where it cannot work."""
        return await self._call("GET", "/health/ready").read(Health)

    async def forget(self, session_id: str) -> None:
        """Make the gateway forget a conversation, its photo included; one that is gone already is well."""
        with suppress(SessionNotFound):  # a second try finds what the first one did
            await self._call("DELETE", f"/sessions/{quote(session_id, safe='')}").whole()

    async def bytes_of(self, source: Source) -> bytes:
        """All of a file."""
        return await self._wire.read(source)

    async def _answer(
        self, accept: str, question: str | None, photo: Source | None, options: Options
    ) -> Call:
        experiment = _plain(options.get("experiment"))
        fields = _given(**{**options, "question": question, "experiment": experiment})
        key = fields.pop("idempotency_key", None) or uuid.uuid4().hex
        sources = _given(image=photo, audio=fields.pop("audio", None))
        files = {name: (name, await self.bytes_of(each), _BYTES) for name, each in sources.items()}
        told: dict[str, Any] = {"json": fields}
        if files:
            texts = {name: v if isinstance(v, str) else json.dumps(v) for name, v in fields.items()}
            told = {"files": files, "data": texts}
        headers = {"Accept": accept, "Idempotency-Key": key}
        return self._call("POST", "/answer", options.get("deadline_ms"), headers, **told)

    def _call(
        self,
        method: str,
        path: str,
        deadline_ms: int | None = None,
        headers: Mapping[str, str] | None = None,
        **content: Any,
    ) -> Call:
        sent = {**self._headers, **(headers or {})}
        try:
            request = self._wire.build(method, self._base_url + path, headers=sent, **content)
        except (UnicodeError, httpx.InvalidURL) as error:
            raise InvalidRequest("A text in the request cannot be sent: it is no valid Unicode.") from error
        patience_s, grace_s = self._timeout_s, 0.0
        if deadline_ms is not None:
            patience_s = min(max(deadline_ms / 1000, 0.0), self._timeout_s)
            grace_s = min(_GRACE_S, self._timeout_s - patience_s)
        return Call(self._wire, request, patience_s, grace_s, self._retries, self._clock)


class AsyncLoreglass(Asking):
    """Calls a gateway. Use it as an async context manager, or `aclose` it.

    `key`: where the gateway asks for one. `http`: a client that you close yourself.
    `timeout_s`: the longest that a call takes, all its tries together, where no `deadline_ms` says less. All
    methods raise `LoreglassError`s only, and `OSError` of files. `clock`, `sleep`: other ones for tests.
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
        """With what `LOREGLASS_GATEWAY_URL` and `LOREGLASS_API_KEY` say."""
        base_url, key = environment()
        return cls(**{"base_url": base_url, "key": key, **options})

    def conversation(self, photo: Source | None = None) -> "AsyncConversation":
        """A new conversation; its first question sends the photo."""
        return AsyncConversation(self, photo)

    async def aclose(self) -> None:
        """Close the connections, unless they are the caller's."""
        await self._wire.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class AsyncConversation:
    """Questions one after another. `session_id`: the gateway's name for it, None before the first answer."""

    def __init__(self, asking: Asking, photo: Source | None) -> None:
        self.session_id: str | None = None
        self._asking = asking
        self._photo = photo

    async def ask(
        self, question: str | None = None, photo: Source | None = None, **options: Unpack[Options]
    ) -> Answer:
        """The answer to the next question; `photo`: a new one, from now on."""
        answer = await self._asking.ask(question, await self._shown(photo), **self._going_on(options))
        self._learn(answer)
        return answer

    async def stream(
        self, question: str | None = None, photo: Source | None = None, **options: Unpack[Options]
    ) -> AsyncGenerator[Event, None]:
        """As `ask`, with what happens as it happens."""
        shown = await self._shown(photo)
        async with aclosing(self._asking.stream(question, shown, **self._going_on(options))) as events:
            async for event in events:
                if isinstance(event, Answer):
                    self._learn(event)
                yield event

    async def forget(self) -> None:
        """Make the gateway forget it; the next question begins anew, without a photo."""
        session_id, self.session_id, self._photo = self.session_id, None, None
        if session_id is not None:
            await self._asking.forget(session_id)

    async def _shown(self, photo: Source | None) -> bytes | None:
        """The photo to send: until a turn has been kept, it may have to be sent again."""
        source = self._photo if photo is None else photo
        self._photo = None if source is None else await self._asking.bytes_of(source)
        return self._photo

    def _going_on(self, options: Options) -> Options:
        return {"session_id": self.session_id, **options}

    def _learn(self, answer: Answer) -> None:
        if "session" not in answer.degraded:  # such a turn was not kept, and a new session is nobody's
            self.session_id, self._photo = answer.session_id, None


class _Completion(BaseModel):
    loreglass: Answer


class _Transcription(BaseModel):
    text: str


class _Model(BaseModel):
    id: str


class _Models(BaseModel):
    data: list[_Model]


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _plain(experiment: Experiment | None) -> dict[str, Any] | None:
    return None if experiment is None else experiment.model_dump(exclude_defaults=True)
