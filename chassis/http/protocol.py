"""HTTP/1.1 on one connection: uvicorn's protocol, which is told what it may read and for how long.

llhttp keeps a header until it is whole and has no limit of its own, so bytes are counted here before it has
them. Who is refused gets a problem like any other. What is still sent after any early reply, the app's too,
is thrown away for a while: if the connection broke under the caller, it would read no reply.
"""

import uuid
from enum import Enum, auto
from types import SimpleNamespace
from typing import Any, cast

import httptools
import structlog
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from chassis.errors import (
    HeadersTooLarge,
    LoreglassError,
    MalformedRequest,
    Overloaded,
    RequestTimeout,
    UriTooLong,
)
from chassis.http.connections import Connections
from chassis.http.problems import problem_response
from contracts import headers

_RETRY_S = 1.0
_MOST_HEADER_LINES, _MOST_TARGET_BYTES, _MOST_PIPELINED = 100, 8 * 2**10, 16
_BODY_WINDOW_S = 10.0
"""The rate of a body is measured over this time."""
_UNREAD_S = 30.0
"""For taking some of a reply."""
_LINGER_S = 30.0
"""For what is still sent once the reply to it is out."""
_KEEP_ALIVE_S = 75.0
"""Longer than our clients keep idle connections, so that none is closed while a request is sent."""
_MOST_UNREAD, _MOST_UNREAD_HEAD = 64 * 2**20, 4 * 2**20
"""Bytes of a body, and of a head, that are thrown away where a caller still sends once its reply is out."""

log = structlog.get_logger()


class _Reading(Enum):
    NOTHING_YET = auto()
    HEAD = auto()
    BODY = auto()
    BETWEEN = auto()


class _RefusedError(Exception):
    """Stops the parser in the middle of what it was given."""


class BoundedProtocol(HttpToolsProtocol):
    """`_run`: bytes since the last piece of body or the start of the message, so those of headers, of chunk
    extensions and of trailers alike. `_segment`: those of the piece at hand that are not yet known to be body
    or head of a message.
    """

    def __init__(self, *arguments: Any, connections: Connections, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._register = connections
        self._limits = connections.limits
        self._reading = _Reading.NOTHING_YET
        self._refusal: LoreglassError | None = None
        self._lingering = False
        self._segment = self._run = self._head_bytes = self._trailers = self._body_bytes = self._unsent = 0
        self._waited_s = self._unread_s = 0.0
        self._replies_to: Any = None
        self._first_piece: bytes | None = None

    # What the event loop says

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._replies_to = SimpleNamespace(
            write=self._write_soon, is_closing=transport.is_closing, close=self._close_once_sent
        )
        if not self._register.add(self, self.client[0] if self.client else ""):
            self._refuse(Overloaded("There are too many connections.", retry_after_s=_RETRY_S))

    def connection_lost(self, exc: Exception | None) -> None:
        self._register.remove(self)
        super().connection_lost(exc)
        # Else each keeps the other until they are collected.
        self._replies_to.write, self._replies_to.close = self.transport.write, self.transport.close

    def eof_received(self) -> None:
        self._write_held()

    def data_received(self, data: bytes) -> None:
        self._segment = len(data)
        self._run += self._segment
        if self._lingering:
            if self._run > (_MOST_UNREAD if self._reading is _Reading.BODY else _MOST_UNREAD_HEAD):
                self.transport.abort()
            return
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self._refuse(self._refusal or MalformedRequest("This is not an HTTP/1.1 request."))
            return
        except httptools.HttpParserUpgrade:
            pass  # no other protocol is spoken here: the request is answered as it stands
        if self._run > self._limits.header_bytes:
            self._refuse(self._too_large())

    def shutdown(self) -> None:
        self._write_held()
        if self._lingering:
            self.transport.abort()
        super().shutdown()

    # What the parser says

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._reading = _Reading.HEAD
        self._run = max(0, self._segment)
        self._head_bytes = self._trailers = 0
        self._waited_s = 0.0

    def on_url(self, url: bytes) -> None:
        self.url += url
        self._head_bytes += len(url)
        if len(self.url) > _MOST_TARGET_BYTES:
            self._stop(UriTooLong(f"The address is longer than {_MOST_TARGET_BYTES >> 10} KiB."))

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_bytes += len(name) + len(value) + 4
        lines = len(self.headers) + self._trailers
        if self._head_bytes > self._limits.header_bytes or lines >= _MOST_HEADER_LINES:
            self._stop(self._too_large())
        if self._reading is _Reading.BODY:
            self._trailers += 1  # no header of the message (RFC 9110, 6.5.1), and nobody here reads one
            return
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        if len(self.pipeline) >= _MOST_PIPELINED:
            self._stop(Overloaded("Too many requests at once on one connection.", retry_after_s=_RETRY_S))
        super().on_headers_complete()
        self.cycle.transport = self._replies_to
        self._segment -= self._head_bytes
        self._reading = _Reading.BODY
        self._body_bytes = 0
        self._waited_s = 0.0
        self._register.work(self)

    def on_body(self, body: bytes) -> None:
        self._run = 0
        self._segment -= len(body)
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._reading = _Reading.BETWEEN
        self._run = 0
        self._waited_s = 0.0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """uvicorn's own starts a timer for each; `watch` does without."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
            return
        self._waited_s = 0.0
        self._register.rest(self)

    # What the register says

    def give_way(self) -> None:
        """Close: another connection needs the place, and this one has no request in progress."""
        self._write_held()
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()

    def watch(self, seconds: float) -> None:
        """Count that so much time has passed; refuse or close what has used up its own."""
        self._write_held()
        if self._reply_is_left_unread(seconds):
            self._register.refused("unread_reply")
            self.transport.abort()
        elif self._lingering:
            self._waited_s += seconds
            if self._waited_s > _LINGER_S and not self._in_hand:
                self.transport.abort()
        elif self._reading is _Reading.BODY:
            self._watch_body(seconds)
        elif not self.flow.read_paused:
            self._watch_head(seconds)

    def _reply_is_left_unread(self, seconds: float) -> bool:
        before, self._unsent = self._unsent, self.transport.get_write_buffer_size()
        self._unread_s = self._unread_s + seconds if self._unsent and self._unsent >= before else 0.0
        return self._unread_s > _UNREAD_S

    def _watch_head(self, seconds: float) -> None:
        if self._reading is _Reading.BETWEEN and self._in_hand:
            return
        self._waited_s += seconds
        if self._reading is _Reading.BETWEEN:
            if self._waited_s > _KEEP_ALIVE_S:
                self.transport.close()
        elif self._waited_s > self._limits.header_s and self._reading is _Reading.NOTHING_YET:
            self._register.refused("silent")
            self.transport.close()
        elif self._waited_s > self._limits.header_s:
            self._refuse(RequestTimeout(f"No whole request came in {self._limits.header_s:.0f} s."))

    def _watch_body(self, seconds: float) -> None:
        """A body that is not read by us is not slow."""
        if self._in_hand and self.flow.read_paused:
            return
        self._waited_s += seconds
        if not self._in_hand:  # answered, and still sending
            if self._waited_s > _LINGER_S:
                self.transport.abort()
        elif self._waited_s >= _BODY_WINDOW_S:
            if self._body_bytes < self._limits.body_rate * _BODY_WINDOW_S:
                self._refuse(RequestTimeout("The body came too slowly."))
            self._waited_s, self._body_bytes = 0.0, 0

    # Refusing

    @property
    def _in_hand(self) -> bool:
        """Return whether a request of this connection is not answered yet."""
        return self.cycle is not None and not self.cycle.response_complete and not self.cycle.disconnected

    def _too_large(self) -> HeadersTooLarge:
        lines, size = _MOST_HEADER_LINES, self._limits.header_bytes >> 10
        return HeadersTooLarge(f"The headers are more than {lines} lines or {size} KiB.")

    def _stop(self, error: LoreglassError) -> None:
        self._refusal = error
        raise _RefusedError

    def _refuse(self, error: LoreglassError) -> None:
        """Answer with `error`, in its turn, and read no further."""
        self._register.refused(error.kind.value)
        self._linger()
        if not self._in_hand:
            self._say(error)
        elif not self.cycle.more_body:  # what is wrong came after a whole request, which is answered first
            self.cycle.keep_alive = False
        elif self.cycle.response_started or self.pipeline:
            self.transport.abort()
        else:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            self._say(error)

    def _say(self, error: LoreglassError) -> None:
        trace_id = uuid.uuid4().hex
        reply = problem_response(error, trace_id)
        head = [
            *self.server_state.default_headers,
            *reply.raw_headers,
            (b"connection", b"close"),
            (headers.TRACE.lower().encode(), trace_id.encode()),
        ]
        lines = [STATUS_LINE[reply.status_code], *(b"%s: %s\r\n" % each for each in head), b"\r\n"]
        log.info("refused_before_reading", problem=error.kind.value, trace_id=trace_id)
        self._write_held()
        self.transport.write(b"".join([*lines, cast(bytes, reply.body)]))
        self._say_no_more()

    # Replying, for uvicorn's cycles

    def _write_soon(self, data: bytes) -> None:
        """A head and the body that follows at once are one write: each by itself would wake the caller."""
        if self._first_piece is not None:
            first, self._first_piece = self._first_piece, None
            self.transport.writelines((first, data))
            return
        self._first_piece = data
        self.loop.call_soon(self._write_held)

    def _write_held(self) -> None:
        waiting, self._first_piece = self._first_piece, None
        if waiting is not None and not self.transport.is_closing():
            self.transport.write(waiting)

    # Ending

    def _close_once_sent(self) -> None:
        """They would close under a caller that still sends."""
        self._write_held()
        if self.transport.is_closing():
            return
        if not self._lingering and (self.pipeline or not self.cycle.more_body):
            self.transport.close()
            return
        self.cycle.disconnected = True  # it may have failed in the middle of its reply
        self._linger()
        self._say_no_more()

    def _linger(self) -> None:
        self._lingering = True
        self._waited_s, self._run = 0.0, 0

    def _say_no_more(self) -> None:
        self.flow.resume_reading()
        if self.transport.can_write_eof():  # TLS cannot close one direction: the caller, or `watch`, closes
            self.transport.write_eof()
        self._register.rest(self)
