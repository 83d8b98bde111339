"""Pictures of every format, whole and damaged, by every door that takes one."""

import base64
import random

from tests.attacks.inputs import AttackClass, Input, Make, Scene, form, photo_part, request, text_parts
from tests.attacks.mutations import dumped
from tests.attacks.pictures import FORMATS, HOSTILE, drawn, hostile, saved

_KINDS = ("image/jpeg", "image/png", "image/svg+xml", "application/octet-stream", "text/html", "")


def _to_answer(draw: random.Random, scene: Scene, what: str, content: bytes) -> Input:
    parts = [
        *text_parts({"question": "what is this?", "deadline_ms": "3000"}),
        photo_part(content, kind=draw.choice(_KINDS)),
    ]
    return Input(what, scene.post_form("/answer", parts))


def _by_form(draw: random.Random, scene: Scene) -> Input:
    return _to_answer(draw, scene, *drawn(draw))


def _by_device(draw: random.Random, scene: Scene) -> Input:
    what, content = drawn(draw)
    name = draw.choice(("photo", "file", "image"))
    path = "/devices/photo-question?deadline_ms=3000"
    further = [("Device-Id", "a4:cf:12")] if draw.random() < 0.5 else []
    return Input(f"device: {what}", scene.post_form(path, [photo_part(content, name)], *further))


def _by_chat(draw: random.Random, scene: Scene) -> Input:
    what, content = drawn(draw)
    url = f"data:{draw.choice(_KINDS)};base64,{base64.b64encode(content).decode()}"
    said = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "what is this?"}]
    body = {"model": "loreglass", "deadline_ms": 3_000, "messages": [{"role": "user", "content": said}]}
    return Input(f"chat: {what}", scene.post_json("/v1/chat/completions", dumped(body)))


def _to_a_service(draw: random.Random, scene: Scene) -> Input:
    what, content = drawn(draw)
    app, path = draw.choice(
        (("ocr", "/v1/ocr"), ("image_search", "/v1/image-search"), ("cropper", "/v1/crop"))
    )
    kind = "multipart/form-data; boundary=attack-7d1f4c"
    body = form([photo_part(content), *text_parts({"text": "book"} if app == "cropper" else {})])
    return Input(f"{app}: {what}", request("POST", path, [("Content-Type", kind)], body), to=app)


def _whole(name: str) -> Make:
    return lambda draw, scene: _to_answer(draw, scene, name, saved(name))


def _special(name: str) -> Make:
    return lambda draw, scene: _to_answer(draw, scene, name, hostile(name))


CLASS = AttackClass(
    "images",
    f"images in {len(FORMATS)} formats",
    {_by_form: 50, _by_device: 15, _by_chat: 15, _to_a_service: 20}
    | {_whole(name): 0.02 for name in FORMATS}
    | {_special(name): 0.02 for name in HOSTILE},
)
