"""One call: send it, retry it where that helps, read the reply, translate errors."""

import math
import random
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from loreglass_client.errors import (
    BrokenReply,
    DeadlineExceeded,
    InvalidRequest,
    LoreglassError,
    Unreachable,
    refusal,
)
from loreglass_client.models import EVENTS, Answer, Event
from loreglass_client.wires import AsyncWire, BlockingWire

Body = TypeVar("Body", bound=BaseModel)
_More = Callable[[], Awaitable[bytes | None]]

_CONNECT_S = 5.0
_MOST_BYTES = 64 * 2**20  # of a reply
_OK, _BUSY = 200, (429, 503)


@dataclass(frozen=True, slots=True)
class Retries:
    """The retries of a call, `most` at most, after a failed connection or a reply with `Retry-After`.

    The pause is `Retry-After`, or a random part of `first_s`, doubled each time up to `longest_s`; never
    beyond the deadline. `chance`: returns a number in 0..1.
    """

    most: int = 4
    first_s: float = 0.25
    longest_s: float = 8.0
    chance: Callable[[], float] = random.random

    def pause_s(self, error: LoreglassError, tried: int) -> float | None:
        """Return the seconds until the next attempt; None if there is none."""
        after_s = error.retry_after_s if error.status in _BUSY else None
        if tried >= self.most or not (isinstance(error, Unreachable) or after_s is not None):
            return None
        return self.chance() * min(self.longest_s, self.first_s * 2.0**tried) if after_s is None else after_s


class Call:
    """A request, byte for byte the same at every attempt. `patience_s`: the caller's deadline, from now on.
    `grace_s`: how much later the reply may arrive.
    """

    def __init__(
        self,
        wire: AsyncWire | BlockingWire,
        request: httpx.Request,
        patience_s: float,
        grace_s: float,
        retries: Retries,
        clock: Callable[[], float],
    ) -> None:
        request.read()  # a form as one piece
        self._wire = wire
        self._request = request
        self._due = clock() + patience_s
        self._grace_s = grace_s
        self._retries = retries
        self._clock = clock
        self._tried = 0

    async def whole(self) -> bytes:
        """Return the body of the reply."""
        while True:
            try:
                async with self._arriving() as more:
                    pieces = []
                    while (piece := await more()) is not None:
                        pieces.append(piece)
                    return b"".join(pieces)
            except LoreglassError as error:
                await self._pause(error)

    async def read(self, kind: type[Body]) -> Body:
        """Return the parsed JSON reply."""
        return _read(kind, await self.whole())

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yield the events up to the answer; retry before the first one only."""
        begun = False
        while True:
            try:
                async with self._arriving() as more:
                    frames = _Frames()
                    while (piece := await more()) is not None:
                        for name, data in frames.after(piece):
                            begun = True
                            event = _event(name, data)
                            if event is not None:
                                yield event
                            if isinstance(event, Answer):
                                return
                    raise Unreachable("The gateway broke off before the answer.")
            except LoreglassError as error:
                if begun:
                    raise
                await self._pause(error)

    @asynccontextmanager
    async def _arriving(self) -> AsyncIterator[_More]:
        """Yield a function that returns the next piece of a successful reply's body."""
        left_s = self._left_s()
        # A retry has only the rest of the caller's time.
        deadline_s = left_s - self._grace_s if self._tried else left_s
        self._request.headers["X-Deadline-Ms"] = str(math.ceil(max(deadline_s, 0.001) * 1000))
        limits = httpx.Timeout(left_s, connect=min(_CONNECT_S, left_s))
        self._request.extensions = {**self._request.extensions, "timeout": limits.as_dict()}
        with self._translate_errors():
            async with self._wire.exchange(self._request, left_s) as (response, piece):
                read = 0

                async def more() -> bytes | None:
                    nonlocal read
                    with self._translate_errors():
                        content = await piece(self._left_s())
                    read += len(content or b"")
                    if read > _MOST_BYTES:
                        raise BrokenReply("The gateway's reply is too large.", status=response.status_code)
                    return content

                if not response.is_success:
                    body = b""
                    while (content := await more()) is not None:
                        body += content
                    raise refusal(response.status_code, body, _retry_after_s(response.headers))
                yield more

    async def _pause(self, error: LoreglassError) -> None:
        """Wait for the next attempt. Raises `error` if there is none."""
        pause_s = self._retries.pause_s(error, self._tried)
        if pause_s is None or pause_s >= self._left_s() - self._grace_s:
            raise error
        await self._wire.sleep(pause_s)
        self._tried += 1

    def _left_s(self) -> float:
        return max(0.0, self._due + self._grace_s - self._clock())

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            url = f"{self._request.url.scheme}://{self._request.url.netloc.decode()}"
            raise Unreachable(f"No Loreglass server at {url}. Start one with: loreglass serve") from error
        except (TimeoutError, httpx.TimeoutException) as error:
            raise DeadlineExceeded("The gateway did not answer in time.") from error
        except httpx.LocalProtocolError as error:
            raise InvalidRequest("The key, or another header, holds what cannot be sent.") from error
        except httpx.HTTPError as error:
            raise Unreachable("The connection to the gateway broke off.") from error


def _retry_after_s(headers: httpx.Headers) -> float | None:
    """Return `Retry-After` if it is in seconds, as the gateway sends it."""
    value = headers.get("retry-after", "")
    return float(value) if value.isascii() and value.isdigit() else None


def _read(kind: type[Body], content: bytes) -> Body:
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        raise BrokenReply("The gateway sent a reply that breaks its contract.") from error


def _event(name: str, data: bytes) -> Event | None:
    """Return the typed event; None for an unknown one. Raises the error of an `error` event."""
    if name == "error":
        raise refusal(_OK, data, None)
    kind = EVENTS.get(name)
    return None if kind is None else _read(kind, data)


class _Frames:
    """Parses server-sent events as they arrive (HTML standard, section 9.2.6).

    Lines end at LF or CRLF only: text in the JSON may hold U+2028 and others that `splitlines` cuts at.
    """

    def __init__(self) -> None:
        self._rest, self._name, self._data = bytearray(), "message", list[bytes]()

    def after(self, piece: bytes) -> Iterator[tuple[str, bytes]]:
        """Yield (event, data) of each frame that this piece completes."""
        self._rest += piece
        if b"\n" not in piece:
            return
        *lines, self._rest = self._rest.split(b"\n")
        for line in (ended.removesuffix(b"\r") for ended in lines):
            field, _, value = line.partition(b":")
            if field == b"event":
                self._name = value.removeprefix(b" ").decode(errors="replace")
            elif field == b"data":
                self._data.append(bytes(value.removeprefix(b" ")))
            elif not line:
                if self._data:
                    yield self._name, b"\n".join(self._data)
                self._name, self._data = "message", []
