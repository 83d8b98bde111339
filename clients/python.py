"""The Python client of the gateway: ask, ask and listen, forget a conversation, look at a trace."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TypeVar
from urllib.parse import quote

import aiohttp
import anyio
import httpx
from pydantic import BaseModel, ValidationError

from chassis.errors import (
    DeadlineExceeded,
    DependencyUnavailable,
    InvalidRequest,
    LoreglassError,
    error_from_problem,
)
from chassis.http.calls import FilePart, ServiceClient, http_client
from chassis.http.problems import PROBLEM_JSON
from chassis.resilience.deadlines import Deadline
from chassis.validation import first_fault
from clients.chat import messages_of
from contracts import headers
from contracts.answer import Answer, AnswerRequest, Citation, Experiment, StageEvent, TokenEvent, Trace
from contracts.chat import ChatCompletion, ChatRequest
from contracts.errors import Problem

StreamEvent = StageEvent | Citation | TokenEvent | Answer | Problem
"""What a stream yields; the last one is an `Answer` (SSE `final`) or a `Problem` (SSE `error`)."""

Body = TypeVar("Body", bound=BaseModel)

_EVENTS: Mapping[str, type[StreamEvent]] = {
    "stage": StageEvent,
    "citation": Citation,
    "token": TokenEvent,
    "final": Answer,
    "error": Problem,
}
_NAME = "The gateway"
_GRACE_MS = 5_000  # the gateway keeps the deadline; this is for the reply's way back
_PATIENCE_MS = 65_000  # the longest exchange that the gateway allows by default
_CONNECT_S = 5.0


class LoreglassClient:
    """Calls a gateway. Use as an async context manager, or pass an `http` client that you close yourself.

    `key`: where the gateway asks for one; a client of your own sends what you told it to. Every method raises
    `LoreglassError`s only, of the class that the gateway raised where it did.
    """

    def __init__(self, base_url: str, http: httpx.AsyncClient | None = None, key: str = "") -> None:
        self._owns_http = http is None
        self._http = http or http_client()
        if http is None and key:
            self._http.headers["Authorization"] = f"Bearer {key}"
        self._base_url = base_url.rstrip("/")
        self._gateway = ServiceClient(self._http, _NAME, base_url)

    async def __aenter__(self) -> "LoreglassClient":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections, unless they are the caller's."""
        if self._owns_http:
            await self._http.aclose()

    async def ask(
        self,
        question: str,
        photo: bytes | None = None,
        session_id: str | None = None,
        deadline_ms: int | None = None,
        pipeline: str | None = None,
        experiment: Experiment | None = None,
    ) -> Answer:
        """The answer to a question about `photo` (an encoded image), or about the session's photo.

        `experiment`: where the gateway's operator allows it; `Answer.explanation` has what it asks for.
        """
        asked = AnswerRequest(
            question=question,
            session_id=session_id,
            deadline_ms=deadline_ms,
            pipeline=pipeline,
            experiment=experiment,
        )
        deadline = _patience(deadline_ms)
        if photo is None:
            return await self._gateway.send_json("POST", "/answer", asked, Answer, deadline)
        return await self._gateway.send_multipart(
            "/answer", [_image_part(photo)], _fields(asked), Answer, deadline
        )

    async def ask_in(
        self,
        history: Sequence[tuple[str, str]],
        question: str,
        photo: bytes | None,
        pipeline: str,
        deadline_ms: int | None = None,
        experiment: Experiment | None = None,
    ) -> Answer:
        """The answer to the next question of a conversation that the caller keeps, about its one photo.

        `history`: (question, answer) pairs, oldest first; the gateway reads the newest of many. Nothing of
        it is kept, and what a session knows of the thing beyond those words is not known here.
        """
        messages = messages_of(history, question, photo)
        try:
            asked = ChatRequest(
                model=pipeline, messages=messages, deadline_ms=deadline_ms, experiment=experiment
            )
        except ValidationError as error:
            raise InvalidRequest(first_fault(error)) from error
        path, deadline = "/v1/chat/completions", _patience(deadline_ms)
        return (await self._gateway.send_json("POST", path, asked, ChatCompletion, deadline)).loreglass

    async def ask_stream(
        self,
        question: str,
        photo: bytes | None = None,
        session_id: str | None = None,
        deadline_ms: int | None = None,
        pipeline: str | None = None,
        experiment: Experiment | None = None,
    ) -> AsyncGenerator[StreamEvent, None]:
        """As `ask`, but yields what happens as it happens; ends with an `Answer` or a `Problem`.

        Raises where the gateway refuses before it starts, and where the stream breaks off.
        """
        asked = AnswerRequest(
            question=question,
            session_id=session_id,
            deadline_ms=deadline_ms,
            pipeline=pipeline,
            experiment=experiment,
        )
        deadline = _patience(deadline_ms)
        request = self._stream_request(asked, photo, deadline)
        with _reaching(deadline):
            response = await self._http.send(request, stream=True)
        try:
            if not response.is_success:
                with _reaching(deadline):
                    await response.aread()
                raise _refusal(response)
            async for event in _events(_chunks(response, deadline)):
                yield event
        finally:
            await response.aclose()

    async def delete_session(self, session_id: str) -> None:
        """Make the gateway forget a conversation, its photo included."""
        url = f"{self._base_url}/sessions/{quote(session_id, safe='')}"
        deadline = _patience(None)
        with _reaching(deadline):
            response = await self._http.delete(url, headers=_sent(deadline), timeout=_timeout(deadline))
        if not response.is_success:
            raise _refusal(response)

    async def trace(self, trace_id: str) -> Trace:
        """What happened to one request, stage by stage."""
        return await self._gateway.get(f"/traces/{quote(trace_id, safe='')}", Trace, _patience(None))

    def _stream_request(self, asked: AnswerRequest, photo: bytes | None, deadline: Deadline) -> httpx.Request:
        sent = {**_sent(deadline), "Accept": "text/event-stream"}
        url, timeout = f"{self._base_url}/answer", _timeout(deadline)
        if photo is None:
            body = asked.model_dump_json(exclude_none=True).encode()
            sent["Content-Type"] = "application/json"
            return self._http.build_request("POST", url, headers=sent, content=body, timeout=timeout)
        return self._http.build_request(
            "POST", url, headers=sent, files=[_image_part(photo)], data=_fields(asked), timeout=timeout
        )


def _patience(deadline_ms: int | None) -> Deadline:
    """How long this side waits: the gateway's own deadline and a little more."""
    if deadline_ms is None:
        return Deadline.after_ms(_PATIENCE_MS)
    return Deadline.after_ms(min(max(deadline_ms, 0) + _GRACE_MS, _PATIENCE_MS))


def _sent(deadline: Deadline) -> dict[str, str]:
    return {headers.DEADLINE: str(round(deadline.remaining_ms()))}


def _timeout(deadline: Deadline) -> httpx.Timeout:
    return httpx.Timeout(deadline.remaining_s(), connect=min(_CONNECT_S, deadline.remaining_s()))


def _image_part(photo: bytes) -> FilePart:
    return "image", ("photo", photo, "application/octet-stream")


def _fields(asked: AnswerRequest) -> dict[str, str | list[str]]:
    plain = asked.model_dump(exclude_none=True, exclude={"experiment"})
    fields: dict[str, str | list[str]] = {name: str(value) for name, value in plain.items()}
    if asked.experiment is not None:
        fields["experiment"] = asked.experiment.model_dump_json()
    return fields


@contextmanager
def _reaching(deadline: Deadline) -> Iterator[None]:
    """Network work that ends with the deadline; what goes wrong becomes one of our errors."""
    try:
        with anyio.fail_after(deadline.remaining_s()):
            yield
    except httpx.ConnectTimeout as error:
        raise DependencyUnavailable(f"{_NAME} does not accept connections.") from error
    except (TimeoutError, httpx.TimeoutException) as error:
        raise DeadlineExceeded(f"{_NAME} did not answer in time.") from error
    except (httpx.HTTPError, aiohttp.ClientError) as error:  # the transport lets some of its own through
        raise DependencyUnavailable(f"{_NAME} cannot be reached.") from error


async def _chunks(response: httpx.Response, deadline: Deadline) -> AsyncGenerator[bytes, None]:
    """The body as it arrives."""
    body = response.aiter_bytes()
    while True:
        with _reaching(deadline):
            chunk = await anext(body, None)
        if chunk is None:
            return
        yield chunk


def _refusal(response: httpx.Response) -> LoreglassError:
    """The error that a reply without success stands for."""
    if response.headers.get("content-type", "").startswith(PROBLEM_JSON):
        retry_after = response.headers.get("retry-after", "")
        problem = _read(Problem, response.content)
        return error_from_problem(problem, float(retry_after) if retry_after.isdecimal() else None)
    return DependencyUnavailable(f"{_NAME} answered with status {response.status_code}.")


def _read(kind: type[Body], data: bytes) -> Body:
    try:
        return kind.model_validate_json(data)
    except ValidationError as error:
        raise DependencyUnavailable(f"{_NAME} sent a reply that breaks its contract.") from error


async def _events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[StreamEvent, None]:
    """The typed events of a stream; unknown ones are passed over, as a newer gateway may send them."""
    ended = False
    async for name, data in _frames(chunks):
        kind = _EVENTS.get(name)
        if kind is None:
            continue
        event = _read(kind, data)
        ended = isinstance(event, Answer | Problem)
        yield event
    if not ended:
        raise DependencyUnavailable(f"{_NAME} broke off before the answer.")


async def _frames(chunks: AsyncIterator[bytes]) -> AsyncIterator[tuple[str, bytes]]:
    """(event, data) of each frame, by the HTML standard's section 9.2.6.

    Lines end at LF or CRLF only: text in the JSON may hold U+2028 and others that `splitlines` cuts at.
    """
    rest, name, data = b"", "message", list[bytes]()
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for ended in lines:
            line = ended.removesuffix(b"\r")
            if not line:
                if data:
                    yield name, b"\n".join(data)
                name, data = "message", []
                continue
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"event":
                name = value.decode(errors="replace")
            elif field == b"data":
                data.append(value)
