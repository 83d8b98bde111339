"""What is no HTTP, or hardly: request lines, lengths, chunks, pipelines, half requests."""

import random

from tests.attacks.inputs import AttackClass, Input, Scene
from tests.attacks.words import damaged

_HEAD = b"Host: localhost\r\n"
_JSON = b"Content-Type: application/json\r\n"
_GOOD = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
_METHODS = (
    b"GET",
    b"get",
    b"PRI",
    b"CONNECT",
    b"TRACE",
    b"OPTIONS",
    b"PROPFIND",
    b"BREW",
    b"",
    b"G\x00T",
    b"A" * 300,
)
_TARGETS = (
    b"/",
    b"*",
    b"http://127.0.0.1/answer",
    b"//answer",
    b"/answer#x",
    b"/%00",
    b"/%2e%2e/",
    b"/answer?" + b"a=1&" * 500,
    b"/" + b"a" * 9_000,
    b"/" + b"a" * 70_000,
    b"localhost:80",
    b"/\xff\xfe",
    b"/answer%0d%0aX:1",
    b" ",
    b"/a b",
    b"\\answer",
)
_VERSIONS = (
    b"HTTP/1.1",
    b"HTTP/1.0",
    b"HTTP/0.9",
    b"HTTP/2.0",
    b"HTTP/1.10",
    b"HTTP/9.9",
    b"",
    b"http/1.1",
    b"HTTP/1.1 x",
)
_LENGTHS = (
    b"-1",
    b"+5",
    b"5, 5",
    b"0x5",
    b"5\r\nContent-Length: 6",
    b"9" * 30,
    b"18446744073709551617",
    b" ",
    b"5.0",
    b"1_0",
)
_CHUNKS = (
    b"5\r\nhello\r\n0\r\n\r\n",
    b"-5\r\nhello\r\n0\r\n\r\n",
    b"5;" + b"x" * 20_000 + b"\r\nhello\r\n0\r\n\r\n",
    b"zz\r\n",
    b"FFFFFFFFFFFFFFFFF\r\nhello",
    b"5\nhello\n0\n\n",
    b"0\r\n" + b"X: y\r\n" * 5_000 + b"\r\n",
    b"5\r\nhelloX\r\n0\r\n\r\n",
    b"1\r\na\r\n" * 20_000 + b"0\r\n\r\n",
    b"5 \r\nhello\r\n0\r\n\r\n",
    b"00000000000000000000005\r\nhello\r\n0\r\n\r\n",
)


def _a_request_line(draw: random.Random, scene: Scene) -> Input:
    line = b" ".join((draw.choice(_METHODS), draw.choice(_TARGETS), draw.choice(_VERSIONS)))
    return Input(
        "request line", line + b"\r\n" + _HEAD + b"Connection: close\r\n\r\n", cut=True, silence=True
    )


def _a_length(draw: random.Random, scene: Scene) -> Input:
    data = (
        b"POST /answer HTTP/1.1\r\n"
        + _HEAD
        + _JSON
        + b"Content-Length: "
        + draw.choice(_LENGTHS)
        + b"\r\n\r\n{}   "
    )
    return Input("length", data, cut=True, silence=True)


def _a_lying_length(draw: random.Random, scene: Scene) -> Input:
    length = draw.choice((0, 1, 3, 50, 10**6, 33 * 2**20, 10**12))
    data = b"POST /answer HTTP/1.1\r\n" + _HEAD + _JSON + b"Content-Length: %d\r\n\r\n{}" % length
    return Input(f"length {length} of 2", data, cut=True, silence=True)


def _in_chunks(draw: random.Random, scene: Scene) -> Input:
    coding = draw.choice(
        (
            b"chunked",
            b"Chunked",
            b"gzip, chunked",
            b"chunked, chunked",
            b"identity",
            b"chunked\r\nContent-Length: 3",
        )
    )
    data = (
        b"POST /answer HTTP/1.1\r\n"
        + _HEAD
        + _JSON
        + b"Transfer-Encoding: "
        + coding
        + b"\r\n\r\n"
        + draw.choice(_CHUNKS)
    )
    return Input("chunks", data, cut=True, silence=True)


def _in_a_row(draw: random.Random, scene: Scene) -> Input:
    count = draw.choice((2, 20, 200))
    data = _GOOD.replace(b"Connection: close\r\n", b"") * count + draw.choice(
        (_GOOD, b"POST /answer HTTP/1.1\r\n", b"\x16\x03\x01")
    )
    return Input(f"{count} in a row", data, cut=True)


def _half(draw: random.Random, scene: Scene) -> Input:
    whole = scene.post_json("/answer", {"question": "what is this?"})
    return Input("half a request", whole[: draw.randrange(1, len(whole))], cut=True, silence=True)


def _damaged(draw: random.Random, scene: Scene) -> Input:
    whole = draw.choice(
        (_GOOD, scene.post_json("/answer", {"question": "what is this?", "deadline_ms": 500}))
    )
    return Input("damaged", damaged(draw, whole), cut=True, silence=True)


def _no_http(draw: random.Random, scene: Scene) -> Input:
    data = draw.choice(
        (
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + draw.randbytes(200),
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04",
            b"*1\r\n$4\r\nINFO\r\n",
            b"SSH-2.0-x\r\n",
            draw.randbytes(500),
            b"\r\n" * 2_000,
            b"\x00" * 2_000,
            b"<?xml?>\n",
        )
    )
    return Input("no HTTP", data, cut=True, silence=True)


def _upgrading(draw: random.Random, scene: Scene) -> Input:
    further = draw.choice(
        (
            b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: eA==\r\n",
            b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk\r\n",
            b"Expect: 200-ok\r\n",
        )
    )
    path = draw.choice((b"/", b"/answer", b"/v1/models", b"/health/live"))
    return Input(
        "upgrade", b"GET " + path + b" HTTP/1.1\r\n" + _HEAD + further + b"\r\n", cut=True, silence=True
    )


CLASS = AttackClass(
    "raw-http",
    "raw HTTP",
    {
        _a_request_line: 6,
        _a_length: 3,
        _a_lying_length: 2,
        _in_chunks: 4,
        _in_a_row: 1,
        _half: 2,
        _damaged: 6,
        _no_http: 2,
        _upgrading: 1,
    },
)
