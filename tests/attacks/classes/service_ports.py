"""The services' own ports, as something that has broken in would use them."""

import random
from typing import Any

from tests.attacks.inputs import AttackClass, Input, Make, Scene, form, photo_part, request, text_parts
from tests.attacks.mutations import changed, odd
from tests.attacks.target import SERVICES
from tests.attacks.words import NUMBERS, damaged, text

_JSON: tuple[tuple[str, str, str, Any], ...] = (
    (
        "reader",
        "POST",
        "/v1/read",
        {"question": "how high is it?", "passages": [{"id": "1", "text": "It is 30 m high."}]},
    ),
    (
        "reranker",
        "POST",
        "/v1/rerank",
        {"query": "high", "passages": [{"id": "1", "text": "It is 30 m high."}]},
    ),
    (
        "verifier",
        "POST",
        "/v1/verify",
        {"question": "how high?", "answer": "30 m", "evidence": ["It is 30 m high."]},
    ),
    ("text_search", "POST", "/v1/text-search", {"query": "how high", "top_k": 5}),
    ("text_search", "POST", "/v1/collections", {"name": "attack"}),
    ("text_search", "POST", "/v1/aliases", {"alias": "attack", "collection": "attack"}),
    (
        "text_search",
        "PUT",
        "/v1/collections/attack/chunks",
        {
            "chunks": [
                {
                    "id": "00000000-0000-0000-0000-000000000001",
                    "url": "https://a.example",
                    "title": "A",
                    "text": "It is 30 m high.",
                    "position": 0,
                }
            ]
        },
    ),
    (
        "text_search",
        "POST",
        "/v1/collections/attack/missing",
        {"ids": ["00000000-0000-0000-0000-000000000001"]},
    ),
    ("image_search", "POST", "/v1/collections", {"name": "attack"}),
    ("image_search", "POST", "/v1/image-search/text", {"query": "a book", "top_k": 5}),
    ("image_search", "POST", "/v1/embeddings", {"input": ["a book"], "model": "x"}),
)
_PHOTOS = (
    ("ocr", "/v1/ocr"),
    ("cropper", "/v1/crop"),
    ("image_search", "/v1/image-search"),
    ("domain_router", "/v1/classify"),
)


def _mutated(app: str, method: str, path: str, body: Any) -> Make:
    def make(draw: random.Random, scene: Scene) -> Input:
        made = odd(draw, body) if draw.random() < 0.3 else changed(draw, body)
        return Input(
            f"{app}: {path}", request(method, path, [("Content-Type", "application/json")], made), to=app
        )

    return make


def _a_photo(app: str, path: str) -> Make:
    def make(draw: random.Random, scene: Scene) -> Input:
        fields = {
            name: text(draw) for name in ("question", "text", "query", "ocr_text") if draw.random() < 0.4
        }
        fields |= {"top_k": draw.choice(NUMBERS)} if draw.random() < 0.3 else {}
        photo = damaged(draw, scene.photo) if draw.random() < 0.8 else scene.photo
        kind = "multipart/form-data; boundary=attack-7d1f4c"
        body = form([photo_part(photo, draw.choice(("image", "image", "images", "x"))), *text_parts(fields)])
        return Input(f"{app}: {path}", request("POST", path, [("Content-Type", kind)], body), to=app)

    return make


def _a_path(draw: random.Random, scene: Scene) -> Input:
    app = draw.choice(SERVICES)
    name = draw.choice(("..", "%2e%2e%2f", "%00", "a" * 300, "pages", "aliases.json", "x/y", "\x7f", "con"))
    path = draw.choice(
        (
            f"/v1/collections/{name}",
            f"/v1/collections/{name}/chunks",
            f"/v1/thumbnails/{name}",
            "/metrics",
            "/info",
            "/",
        )
    )
    return Input(f"{app}: path", request(draw.choice(("GET", "DELETE", "PUT", "POST")), path, []), to=app)


def _a_header(draw: random.Random, scene: Scene) -> Input:
    app = draw.choice(SERVICES)
    name = draw.choice(
        (
            "Host",
            "X-Deadline-Ms",
            "X-Priority",
            "X-Trace-Id",
            "traceparent",
            "Content-Encoding",
            "Accept",
            "Origin",
        )
    )
    value = draw.choice(("", "evil.example", "-1", "999999999", "NaN", "gzip", "x" * 5_000, *NUMBERS[:4]))
    lines = [(name, value), ("Content-Type", "application/json")]
    return Input(f"{app}: {name}", request("GET", "/health/live", lines), to=app)


CLASS = AttackClass(
    "service-ports",
    "ports of the services",
    {_mutated(*each): 4 for each in _JSON}
    | {_a_photo(*each): 3 for each in _PHOTOS}
    | {_a_path: 4, _a_header: 3},
)
