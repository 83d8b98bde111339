"""`POST /answer` as JSON, with and without a stream of events."""

import base64
import random
from typing import Any

from tests.attacks.inputs import AttackClass, Input, Scene
from tests.attacks.mutations import changed, dumped, odd
from tests.attacks.words import VALUES, damaged, text

_PATH = "/answer"
_STREAM = ("Accept", "text/event-stream")
_URLS = (
    "file:///etc/passwd",
    "http://169.254.169.254/latest/meta-data/",
    "http://[::1]:80/",
    "http://[::ffff:127.0.0.1]/",
    "http://2130706433/",
    "http://0x7f.1/",
    "http://example.com\\@127.0.0.1/",
    "gopher://127.0.0.1:6379/_INFO",
    "http://127.0.0.1.nip.io/",
    "data:image/png;base64,AAAA",
    "ftp://127.0.0.1/",
    "//127.0.0.1/x",
    "http://localhost:7107/",
)


def _body(scene: Scene, photo: bool = True) -> dict[str, Any]:
    body: dict[str, Any] = {"question": "what is this?", "deadline_ms": 3_000, "pipeline": "loreglass"}
    if photo:
        body["image"] = {"base64": base64.b64encode(scene.photo).decode()}
    return body


def _posted(draw: random.Random, scene: Scene, body: bytes) -> bytes:
    return scene.post_json(_PATH, body, *([_STREAM] if draw.random() < 0.4 else []))


def _mutated(draw: random.Random, scene: Scene) -> Input:
    return Input("mutated", _posted(draw, scene, changed(draw, _body(scene, draw.random() < 0.2))))


def _oddly_spelt(draw: random.Random, scene: Scene) -> Input:
    return Input("odd JSON", _posted(draw, scene, odd(draw, _body(scene, photo=False))))


def _bad_base64(draw: random.Random, scene: Scene) -> Input:
    whole = base64.b64encode(scene.photo)
    text64 = draw.choice(
        (
            whole[:-1],
            whole + b"=",
            b"====",
            whole.replace(b"/", b"_"),
            b" " + whole,
            damaged(draw, whole),
            b"A" * draw.choice((1, 3, 4_000_000)),
        )
    ).decode("latin-1")
    name = draw.choice(("image", "audio"))
    return Input("base64", _posted(draw, scene, dumped({"question": "what?", name: {"base64": text64}})))


def _an_address(draw: random.Random, scene: Scene) -> Input:
    image = {"url": draw.choice(_URLS)} | ({"base64": ""} if draw.random() < 0.2 else {})
    return Input("address", _posted(draw, scene, dumped({"question": "what is this?", "image": image})))


def _an_experiment(draw: random.Random, scene: Scene) -> Input:
    experiment = {
        "explain": draw.choice((True, "yes", 1)),
        "thresholds": {
            text(draw)[:80]: draw.choice((0.5, -1, 2, 1e308, "x")) for _ in range(draw.choice((1, 40)))
        },
        "without": [text(draw)[:80] for _ in range(draw.choice((0, 1, 50)))],
    }
    return Input("experiment", _posted(draw, scene, dumped(_body(scene, False) | {"experiment": experiment})))


def _words(draw: random.Random, scene: Scene) -> Input:
    body = _body(scene, photo=draw.random() < 0.1) | {
        "question": text(draw),
        "deadline_ms": draw.choice((1, 50, 2_000)),
    }
    return Input("question", _posted(draw, scene, dumped(body)))


def _a_key_again(draw: random.Random, scene: Scene) -> Input:
    key = draw.choice(("a", "b", "k" * 128, "k" * 129, "", "\x7f", "é", "a b"))
    body = dumped(_body(scene, photo=False) | {"question": draw.choice(("what?", "who?"))})
    return Input("idempotency key", scene.post_json(_PATH, body, ("Idempotency-Key", key)))


def _a_session(draw: random.Random, scene: Scene) -> Input:
    session = draw.choice((draw.choice(VALUES), text(draw)[:200], *scene.sessions[:1]))
    return Input("session", _posted(draw, scene, dumped(_body(scene, False) | {"session_id": session})))


CLASS = AttackClass(
    "answer-json",
    "/answer, JSON and events",
    {
        _mutated: 8,
        _oddly_spelt: 4,
        _bad_base64: 2,
        _an_address: 2,
        _an_experiment: 1,
        _words: 3,
        _a_key_again: 1,
        _a_session: 2,
    },
)
