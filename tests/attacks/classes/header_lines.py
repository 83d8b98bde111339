"""Headers, on every route."""

import random

from tests.attacks.inputs import AttackClass, Input, Scene, request
from tests.attacks.words import NUMBERS, cased, text

ROUTES = (
    ("POST", "/answer"),
    ("POST", "/v1/chat/completions"),
    ("GET", "/v1/chat/completions"),
    ("GET", "/v1/models"),
    ("POST", "/v1/audio/speech"),
    ("POST", "/v1/audio/transcriptions"),
    ("POST", "/devices/photo-question"),
    ("GET", "/devices/photo-question/x"),
    ("GET", "/speech/x"),
    ("GET", "/traces/x"),
    ("DELETE", "/sessions/x"),
    ("GET", "/health/live"),
    ("GET", "/health/ready"),
    ("GET", "/info"),
    ("GET", "/metrics"),
    ("GET", "/openapi.json"),
    ("GET", "/"),
    ("GET", "/page/main.js"),
    ("GET", "/page/setup.json"),
)
_NAMES = (
    "X-Deadline-Ms",
    "X-Trace-Id",
    "X-Priority",
    "X-Request-Id",
    "Idempotency-Key",
    "Accept",
    "Content-Type",
    "Range",
    "If-None-Match",
    "If-Modified-Since",
    "Authorization",
    "Host",
    "Expect",
    "Transfer-Encoding",
    "Content-Encoding",
    "Origin",
    "Cookie",
    "traceparent",
    "tracestate",
    "baggage",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "Forwarded",
    "X-HTTP-Method-Override",
    "Upgrade",
    "Connection",
    "TE",
    "Device-Id",
    "Accept-Encoding",
    "Accept-Language",
    "Via",
)
_VALUES = (
    "",
    "0",
    "-1",
    "999999999",
    "9" * 400,
    "1e9",
    "NaN",
    "bytes=0-",
    "bytes=-1",
    "bytes=5-1,0-0," * 40,
    "chunked",
    "gzip",
    "100-continue",
    "interactive",
    "lg_AAAAAAAA_" + "x" * 43,
    "Bearer",
    "Bearer  ",
    "Basic Og==",
    "127.0.0.1",
    "evil.example",
    "00-" + "0" * 32 + "-" + "0" * 16 + "-01",
    "00-" + "f" * 32 + "-" + "f" * 16 + "-ff",
    "text/event-stream",
    "*/*;q=2",
    "application/json",
    "websocket",
    "h2c",
    "a" * 7_000,
    "é",
    "\t",
    'W/"x"',
    "%0d%0a",
    "../..",
    "keep-alive, close",
)
_BODY = b'{"question":"what is this?","deadline_ms":500}'


def _value(draw: random.Random, name: str) -> str | bytes:
    turn = draw.random()
    if turn < 0.6:
        return draw.choice(_VALUES)
    if turn < 0.75:
        return draw.choice(NUMBERS)[:200]
    if turn < 0.9:
        return text(draw).replace("\r", " ").replace("\n", " ").replace("\x00", " ")[:4_000]
    return bytes(draw.choice(range(1, 256)) for _ in range(30)).replace(b"\n", b"").replace(b"\r", b"")


def _sent(draw: random.Random, scene: Scene, lines: list[tuple[str, str | bytes]], what: str) -> Input:
    method, path = draw.choice(ROUTES)
    body = _BODY if method == "POST" else b""
    given = [("Content-Type", "application/json"), scene.authorization] if draw.random() < 0.8 else []
    # With another length than the body's, or a claim to go on, the request is never whole.
    never = any(name.lower() in ("transfer-encoding", "content-length") for name, _ in lines)
    return Input(
        f"{what}: {method} {path}", request(method, path, [*given, *lines], body), cut=never, silence=never
    )


def _one(draw: random.Random, scene: Scene) -> Input:
    name = draw.choice(_NAMES)
    return _sent(draw, scene, [(cased(draw, name), _value(draw, name))], name)


def _several(draw: random.Random, scene: Scene) -> Input:
    lines = [(name, _value(draw, name)) for name in draw.choices(_NAMES, k=draw.randrange(2, 8))]
    return _sent(draw, scene, lines, "several")


def _the_same_again(draw: random.Random, scene: Scene) -> Input:
    name = draw.choice(_NAMES)
    return _sent(
        draw, scene, [(name, _value(draw, name)) for _ in range(draw.choice((2, 40)))], f"{name} again"
    )


def _many(draw: random.Random, scene: Scene) -> Input:
    count = draw.choice((60, 101, 500, 3_000))
    return _sent(draw, scene, [(f"X-{place}", "v") for place in range(count)], f"{count} headers")


def _long(draw: random.Random, scene: Scene) -> Input:
    size = draw.choice((8_000, 17_000, 70_000, 1_000_000))
    return _sent(draw, scene, [("X-Long", "a" * size)], f"{size} bytes")


def _an_odd_name(draw: random.Random, scene: Scene) -> Input:
    name = draw.choice(("", " ", "a b", "é", "x:", "(", "\x01", "a" * 9_000, "X_Y", ":path"))
    return _sent(draw, scene, [(name, "v")], "name")


def _a_line_in_a_value(draw: random.Random, scene: Scene) -> Input:
    name = draw.choice(("X-Trace-Id", "X-Request-Id", "Idempotency-Key", "X-Priority"))
    broken = draw.choice(
        ("a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\rX-Evil: 1", "a\r\n\r\nGET /info HTTP/1.1\r\nHost: x\r\n\r\n")
    )
    return _sent(draw, scene, [(name, broken)], "line break")


CLASS = AttackClass(
    "headers",
    "headers, all routes",
    {_one: 10, _several: 4, _the_same_again: 2, _many: 1, _long: 1, _an_odd_name: 1, _a_line_in_a_value: 1},
)
