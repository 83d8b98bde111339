"""Bytes that schemathesis cannot send: ambiguous framing, no HTTP, odd header lines."""

import re
from collections.abc import Mapping

from tests.attacks.attack import Attack, Course
from tests.attacks.sending import request, send

_STATUS_LINE = re.compile(rb"HTTP/1\.1 \d{3} ")
_HOST = b"Host: localhost\r\n"
_NEXT = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
"""Sent behind a request whose length is in doubt. A reply to it means that a request can be smuggled."""
_CHUNK = b"5\r\nhello\r\n0\r\n\r\n"


def _framed(headers: bytes, body: bytes = b"hello") -> bytes:
    start = b"POST /answer HTTP/1.1\r\n" + _HOST + b"Content-Type: application/json\r\n"
    return start + headers + b"\r\n\r\n" + body + _NEXT


def _chunked(body: bytes) -> bytes:
    return _framed(b"Transfer-Encoding: chunked", body)


FRAMINGS: Mapping[str, bytes] = {
    "length and chunks": _framed(b"Content-Length: 5\r\nTransfer-Encoding: chunked", _CHUNK),
    "chunks and length": _framed(b"Transfer-Encoding: chunked\r\nContent-Length: 5", _CHUNK),
    "unknown coding": _framed(b"Transfer-Encoding: xchunked", _CHUNK),
    "chunked twice": _framed(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", _CHUNK),
    "coding behind a control character": _framed(b"Transfer-Encoding: \x0bchunked", _CHUNK),
    "two lengths": _framed(b"Content-Length: 5\r\nContent-Length: 6"),
    "a negative length": _framed(b"Content-Length: -5"),
    "a hexadecimal length": _framed(b"Content-Length: 0x5"),
    "a length of 65 bits": _framed(b"Content-Length: 18446744073709551621"),
    "a space before the colon": _framed(b"Content-Length : 5"),
    "a NUL in a value": _framed(b"X: a\x00b\r\nContent-Length: 5"),
    "a bare CR": _framed(b"X: a\rContent-Length: 5"),
    "a chunk of negative size": _chunked(b"-5\r\nhello\r\n0\r\n\r\n"),
    "a chunk of 68 bits": _chunked(b"FFFFFFFFFFFFFFFFF\r\nhello"),
    "a chunk longer than its size": _chunked(b"5\r\nhelloX\r\n0\r\n\r\n"),
}

NO_HTTP: Mapping[str, bytes] = {
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(200)),
    "Redis": b"*1\r\n$4\r\nINFO\r\n",
    "nothing but line breaks": b"\r\n" * 2_000,
    "half a head": b"GET /answer HTT",
    "half a chunk": b"POST /answer HTTP/1.1\r\n" + _HOST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhe",
    "an upgrade": b"GET / HTTP/1.1\r\n" + _HOST + b"Upgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
    "an unknown expectation": b"GET / HTTP/1.1\r\n" + _HOST + b"Expect: 200-ok\r\n\r\n",
    "200 requests in a row": _NEXT.replace(b"Connection: close\r\n", b"") * 200 + _NEXT,
    **{
        line.decode("latin-1")[:40]: line + b"\r\n" + _HOST + b"\r\n"
        for line in (
            *(b"get / HTTP/1.1", b"CONNECT x:80 HTTP/1.1", b"TRACE / HTTP/1.1", b"G\x00T / HTTP/1.1"),
            *(b"GET / HTTP/0.9", b"GET / HTTP/2.0", b"GET /", b"GET / HTTP/1.1 x", b"GET  / HTTP/1.1"),
            *(b"GET http://127.0.0.1/info HTTP/1.1", b"GET //info HTTP/1.1", b"GET \xff\xfe HTTP/1.1"),
            *(b"GET /page/../../pyproject.toml HTTP/1.1", b"GET /page/%2e%2e/%2e%2e/pyproject.toml HTTP/1.1"),
            *(b"GET /page//etc/passwd HTTP/1.1", b"GET /page/%00 HTTP/1.1"),
            b"GET /info%0d%0aX-Evil:1 HTTP/1.1",
        )
    },
}

_HEADERS: Mapping[str, tuple[bytes, ...]] = {
    "X-Deadline-Ms": (b"", b"0", b"-1", b"9" * 400, b"1e9", b"NaN", b"\xd9\xa3"),
    "X-Priority": (b"", b"system", b"\xff"),
    "X-Trace-Id": (b"a\rX-Evil: 1", b"a\tb", b"\xe9", b"a" * 7_000),
    "X-Request-Id": (b"a\x0bX-Evil: 1", b"\xff"),
    "Idempotency-Key": (b"", b"\x7f", b"\xe9", b"k" * 7_000),
    "traceparent": (b"00-" + b"0" * 32 + b"-" + b"0" * 16 + b"-01", b"ff-x"),
    "Authorization": (b"Bearer", b"Bearer  ", b"Basic Og==", b"Bearer lg_\xff", b"Bearer " + b"lg_A" * 2_000),
    "Range": (b"bytes=5-1,0-0," * 40, b"bytes=-" + b"9" * 60, b"bytes=--"),
    "If-None-Match": (b'W/"x', b"*", b"\xff"),
    "If-Modified-Since": (b"Thu, 99 Foo 9999", b"0"),
    "Accept": (b"*/*;q=2", b",;/", b"text/event-stream;q=x"),
    "Accept-Encoding": (b"gzip;q=x", b"*;q=0, identity;q=0"),
    "Content-Type": (b"", b"/", b"application/json; charset=utf-7", b"multipart/form-data; boundary=\xff"),
    "Content-Encoding": (b"gzip", b"br, gzip"),
    "Host": (b"evil.example", b"", b"[::1"),
    "Origin": (b"null", b"http://evil.example"),
    "Cookie": (b"=;=", b"a" * 7_000),
    "X-Forwarded-For": (b"127.0.0.1", b"x, y"),
    "X-Tenant": (b"victim",),
    "(": (b"v",),
}
_ROUTES = (
    *(("POST", "/answer"), ("GET", "/traces/x"), ("GET", "/speech/x")),
    *(("GET", "/page/style.css"), ("GET", "/")),
)


async def _send_framings(course: Course) -> None:
    for name, data in FRAMINGS.items():
        replies, status = await _sent(course, name, data)
        if replies != 1 or status // 100 != 4:
            course.wrong.append(f"{name}: {replies} replies, the first {status}")


async def _send_no_http(course: Course) -> None:
    for name, data in NO_HTTP.items():
        await _sent(course, name, data)


async def _send_headers(course: Course) -> None:
    key = {"Authorization": f"Bearer {course.target.planted.attacker.text}"}
    for method, path in _ROUTES:
        body = {"json": {"question": "what is this?", "deadline_ms": 500}} if method == "POST" else {}
        for name, values in _HEADERS.items():
            for value in values:
                whole = request(method, path, {} if name == "Authorization" else key, **body)
                data = whole.replace(b"\r\n\r\n", b"\r\n%b: %b\r\n\r\n" % (name.encode(), value), 1)
                what = f"{method} {path}, {name}: {value[:30]!r}"
                if not (await _sent(course, what, data, cut=False))[1]:
                    course.wrong.append(f"{what}: no reply")


async def _sent(course: Course, name: str, data: bytes, cut: bool = True) -> tuple[int, int]:
    """Send once; note what is wrong; return the number of replies and the first one's status."""
    reply = await send(data, course.target.ports["gateway"], 20, cut=cut)
    course.count(reply.status, reply.seconds)
    faults = course.judge.faults(reply.status, data, reply.raw)
    if b"\r\nx-evil" in reply.raw.lower():
        faults.append("a header of the caller's is in the reply")
    if 400 <= reply.status < 500 and reply.seconds > course.late_s:
        again = await send(data, course.target.ports["gateway"], 20, cut=cut)
        faults += [f"refused after {again.seconds:.1f} s"] if again.seconds > course.late_s else []
    course.wrong += [f"{name}: {fault}" for fault in faults]
    return len(_STATUS_LINE.findall(reply.raw)), reply.status


async def _send_all(course: Course) -> None:
    await _send_framings(course)
    await _send_no_http(course)
    await _send_headers(course)


LINES = Attack("lines", "framing, no HTTP, header lines", _send_all)
