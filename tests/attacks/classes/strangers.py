"""Sessions, traces and paths of others, or of nobody; keys that are none."""

import random

from tests.attacks.inputs import AttackClass, Input, Scene, request
from tests.attacks.mutations import dumped
from tests.attacks.words import cased, damaged, text

_PATHS = (
    "/",
    "/..",
    "/../../etc/passwd",
    "/page/../../gateway/settings.py",
    "/page/%2e%2e/%2e%2e/pyproject.toml",
    "/page//etc/passwd",
    "/page/..%5c..%5cx",
    "/page/%00",
    "/page/" + "a" * 5_000,
    "/.env",
    "/.git/config",
    "/admin",
    "/docs",
    "/redoc",
    "/debug/pprof",
    "/operator",
    "/operator/pages",
    "/operator/things",
    "/metrics/",
    "/info/",
    "/openapi.json/",
    "/v1",
    "/v1/collections",
    "/v1/aliases",
    "/v1/ocr",
    "/v1/embeddings",
    "/v1/image-search",
    "/v1/rerank",
    "/v1/verify",
    "/v1/read",
    "/v1/text-search",
    "/health",
    "/health/ready/x",
    "/static/x",
    "/favicon.ico",
    "/robots.txt",
    "/%E0%80%AE",
    "/\x7f",
    "/;",
    "/?",
    "//",
    "/*",
)
_METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "TRACE")
_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def _id(draw: random.Random, known: tuple[str, ...]) -> str:
    """The victim's, nearly the victim's, one of the same form, or none at all."""
    turn = draw.random()
    if turn < 0.3 and known:
        return draw.choice(known)
    if turn < 0.45 and known:
        return cased(draw, draw.choice(known))
    if turn < 0.75:
        return "".join(draw.choices(_ALPHABET, k=draw.choice((31, 32, 33))))
    return draw.choice(
        ("", "*", "%2a", "..", "%00", "0" * 32, "f" * 32, "a" * 4_000, "%0a", "victim:x", "%F0%9F", "null")
    )


def _a_trace(draw: random.Random, scene: Scene) -> Input:
    path = f"/traces/{_id(draw, tuple(scene.traces))}"
    return Input("trace", request(draw.choice(("GET", "GET", "DELETE")), path, [scene.authorization]))


def _a_session(draw: random.Random, scene: Scene) -> Input:
    path = f"/sessions/{_id(draw, tuple(scene.sessions))}"
    return Input("session", request("DELETE", path, [scene.authorization]))


def _going_on(draw: random.Random, scene: Scene) -> Input:
    body = {
        "question": "and who made it?",
        "deadline_ms": 500,
        "session_id": _id(draw, tuple(scene.sessions)),
    }
    return Input("follow-up", scene.post_json("/answer", dumped(body)))


def _a_device(draw: random.Random, scene: Scene) -> Input:
    path = f"/devices/photo-question/{_id(draw, ('ask-1',))}?session={_id(draw, tuple(scene.sessions))}"
    return Input("a device's reply", request("GET", path, [scene.authorization]))


def _a_sound(draw: random.Random, scene: Scene) -> Input:
    return Input(
        "speech", request("GET", f"/speech/{_id(draw, tuple(scene.traces))}", [("Range", "bytes=0-")])
    )


def _a_path(draw: random.Random, scene: Scene) -> Input:
    path = draw.choice(_PATHS)
    further = [scene.authorization] if draw.random() < 0.5 else []
    return Input("path", request(draw.choice(_METHODS), path, further))


def _a_key(draw: random.Random, scene: Scene) -> Input:
    key = scene.attacker
    value = (
        draw.choice(
            (
                damaged(draw, key.encode()).replace(b"\n", b"").replace(b"\r", b""),
                key[:-1].encode(),
                key[:12].encode(),
                b"",
                key.swapcase().encode(),
                b"lg_" + b"A" * 8 + b"_" + b"B" * 43,
                text(draw)[:200].encode("utf-8", "replace"),
            )
        )
        .replace(b"\r", b"")
        .replace(b"\n", b"")
    )
    path = draw.choice(("/answer", "/v1/chat/completions", "/traces/" + "0" * 32, "/devices/photo-question"))
    method = "GET" if path.startswith("/traces") else "POST"
    lines = [("Authorization", b"Bearer " + value), ("Content-Type", "application/json")]
    return Input(
        "key", request(method, path, lines, b'{"question":"what is this?"}' if method == "POST" else b"")
    )


def _a_tenant_by_itself(draw: random.Random, scene: Scene) -> Input:
    name = draw.choice(("X-Tenant", "X-Forwarded-User", "X-Operator", "X-Priority", "X-Session-Id"))
    further = [(name, draw.choice(("victim", "true", "interactive", *scene.sessions[:1])))]
    path = f"/traces/{_id(draw, tuple(scene.traces))}"
    return Input("says who it is", request("GET", path, [scene.authorization, *further]))


CLASS = AttackClass(
    "strangers",
    "sessions, traces, paths, keys",
    {
        _a_trace: 4,
        _a_session: 2,
        _going_on: 3,
        _a_device: 2,
        _a_sound: 2,
        _a_path: 5,
        _a_key: 4,
        _a_tenant_by_itself: 2,
    },
)
