"""Bad bodies and values are refused with a clear problem, and the next good question works."""

import base64
import gzip

import httpx
import pytest
import structlog

from tests.unit.chassis import pictures
from tests.unit.gateway import hostile
from tests.unit.gateway.hostile import PHOTO_64, json_question, post_json, refused
from tests.unit.gateway.platform import PHOTO, QUESTION, World

standing, world = hostile.standing, hostile.world  # fixtures of these tests


def form_of(*parts: bytes) -> bytes:
    """A multipart body of raw parts."""
    return b"".join(b"--edge\r\n" + part + b"\r\n" for part in parts) + b"--edge--\r\n"


def text_part(name: str, value: bytes) -> bytes:
    return f'Content-Disposition: form-data; name="{name}"\r\n\r\n'.encode() + value


QUESTION_PART = text_part("question", QUESTION.encode())
PHOTO_PART = (
    b'Content-Disposition: form-data; name="image"; filename="a.jpg"\r\nContent-Type: image/jpeg\r\n\r\n'
    + PHOTO
)


async def post_form(world: World, body: bytes) -> httpx.Response:
    headers = {"Content-Type": "multipart/form-data; boundary=edge"}
    return await world.client.post("/answer", content=body, headers=headers)


WRONG_PARTS = {
    "17 fields": ([text_part(f"field{number}", b"x") for number in range(17)], 413, "payload_too_large"),
    "three files": ([PHOTO_PART] * 3, 413, "payload_too_large"),
    **{
        name: ([QUESTION_PART, PHOTO_PART, text_part(name, b"x")], 422, "invalid_request")
        for name in ("image_url", "ques\x00tion", "é")
    },
    "two questions": ([QUESTION_PART, PHOTO_PART, QUESTION_PART], 422, "invalid_request"),
    "two photos": ([QUESTION_PART, PHOTO_PART, PHOTO_PART], 422, "invalid_request"),
    "a photo by its address": (
        [QUESTION_PART, text_part("image", b"https://example.com/a.jpg")],
        422,
        "invalid_request",
    ),
}


# tests/unit/chassis/test_bodies.py tests malformed forms.
@pytest.mark.parametrize(("parts", "status", "kind"), WRONG_PARTS.values(), ids=map(ascii, WRONG_PARTS))
async def test_a_bad_form_is_refused(world: World, parts: list[bytes], status: int, kind: str) -> None:
    refused(await post_form(world, form_of(*parts)), status, kind)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/answer", "application/json"),
        ("/answer", "multipart/form-data; boundary=edge"),
        ("/v1/chat/completions", "application/json"),
    ],
)
async def test_a_compressed_body_is_refused_by_name(world: World, path: str, kind: str) -> None:
    headers = {"Content-Type": kind, "Content-Encoding": "gzip"}
    reply = await world.client.post(path, content=gzip.compress(b" " * 30_000_000), headers=headers)
    assert reply.status_code == 415
    assert "Content-Encoding" in reply.text


@pytest.mark.parametrize(
    "question", [None, "", "   \n\t ", "x" * 2_001, "a\x00b", "bell \x07", "\x1b[31mred"]
)
async def test_bad_question_is_refused_in_both_forms(world: World, question: str | None) -> None:
    kind = "invalid_request"
    assert "question" in refused(await world.post(question), 422, kind)
    assert "question" in refused(await post_json(world, json_question(question=question)), 422, kind)


@pytest.mark.parametrize(
    "field", ['"question": "\\ud800"', '"session_id": "\\udfff"', '"pipeline": "\\ud800"', '"\\ud800": 1']
)
async def test_lone_surrogate_is_refused_in_every_field(world: World, field: str) -> None:
    body = f'{{"question": "Who?", "image": {{"base64": "{PHOTO_64}"}}, {field}}}'
    if field.startswith('"question'):
        body = body.replace('"question": "Who?", ', "", 1)
    reply = await post_json(world, body.encode())
    assert 400 <= reply.status_code < 500
    refused(reply, reply.status_code, reply.json()["type"].rpartition(":")[2])


@pytest.mark.parametrize(
    "text", ["Who wrote this? \U0001f4d6", "Qui a écrit «ça»?", "谁写的？", "‮evil", "a​b", "<|image|> who?"]
)
async def test_unusual_text_is_accepted(world: World, text: str) -> None:
    assert (await world.post(text)).status_code == 200
    assert (await post_json(world, json_question(question=text))).status_code == 200


BAD_PHOTOS = {
    "empty file": (b"", 422, "corrupt_image"),
    "text as jpg": (pictures.FOREIGN["text"], 415, "unsupported_image"),
    "100 megapixels": (pictures.one_bit_bomb(), 413, "image_too_large"),
    "30 MiB and a byte": (b"\xff\xd8\xff" + bytes(30 * 2**20 - 2), 413, "image_too_large"),
}


@pytest.mark.parametrize(("data", "status", "kind"), BAD_PHOTOS.values(), ids=BAD_PHOTOS)
async def test_bad_photo_is_refused_in_both_forms(world: World, data: bytes, status: int, kind: str) -> None:
    refused(await world.post(photo=data), status, kind)
    in_json = json_question(image={"base64": base64.b64encode(data).decode()})
    refused(await post_json(world, in_json), status, kind if len(data) < 2**20 else "payload_too_large")


async def test_location_of_the_photo_is_removed(world: World) -> None:
    marker = pictures.MARKER.decode()
    with structlog.testing.capture_logs() as logged:
        reply = await world.post(photo=pictures.located_jpeg())
    assert reply.status_code == 200
    received = [call for name in ("ocr", "cropper", "image_search") for call in world.services[name].calls]
    trace = await world.client.get(f"/traces/{reply.json()['trace_id']}")
    for place in (reply.text, str(logged), repr(received), trace.text):
        assert marker not in place
        assert "47, 22" not in place


@pytest.mark.parametrize(
    "image",
    [
        {"base64": "not base64 at all!"},
        {"base64": ""},
        {"base64": "ä" * 40},
        {"base64": ["x"]},
        {},
        {"base64": PHOTO_64, "url": "https://example.com/a.jpg"},
        {"path": "/etc/passwd"},
        "just text",
    ],
    ids=str,
)
async def test_bad_image_field_is_refused(world: World, image: object) -> None:
    reply = await post_json(world, json_question(image=image))
    assert reply.status_code in (415, 422)
    refused(reply, reply.status_code, reply.json()["type"].rpartition(":")[2])


@pytest.mark.parametrize(
    "url",
    ["https://example.com/photo.jpg", "file:///etc/passwd", "http://169.254.169.254/latest/meta-data", ""],
)
async def test_image_urls_are_off(world: World, url: str) -> None:
    detail = refused(await post_json(world, json_question(image={"url": url})), 422, "image_url_not_allowed")
    assert not url or url not in detail


@pytest.mark.parametrize("value", [0, -1, 60_001, 10**30, 10.5, "soon", "NaN", "9" * 5_000])
async def test_bad_deadline_is_refused_in_both_forms(world: World, value: object) -> None:
    for reply in (
        await world.post(deadline_ms=str(value)),
        await post_json(world, json_question(deadline_ms=value)),
    ):
        assert "deadline_ms" in refused(reply, 422, "invalid_request")


@pytest.mark.parametrize("session_id", ["unknown", "../../etc/passwd", "a" * 10_000, "\x00"])
async def test_unknown_session_is_not_found(world: World, session_id: str) -> None:
    refused(await world.post(session_id=session_id), 404, "session_not_found")
    refused(await post_json(world, json_question(session_id=session_id)), 404, "session_not_found")


@pytest.mark.parametrize("pipeline", ["nonsense", "__class__", "x" * 10_000])
async def test_unknown_pipeline_names_the_known_ones(world: World, pipeline: str) -> None:
    assert "loreglass" in refused(await world.post(pipeline=pipeline), 404, "pipeline_not_found")
    refused(await post_json(world, json_question(pipeline=pipeline)), 404, "pipeline_not_found")


# Which JSON cannot be read is tested in tests/unit/chassis/test_json_text.py.
@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        (b"", 400, "malformed_request"),
        (b"[]", 422, "invalid_request"),
        (b"{}", 422, "invalid_request"),
        (b'{"question": "Who?", "colour": "red"}', 422, "invalid_request"),
        (b'{"question": {"text": "Who?"}}', 422, "invalid_request"),
        (b'{"question": "Who?", "' + b"k" * 100_000 + b'": 1}', 422, "invalid_request"),
    ],
    ids=lambda value: f"{value[:24]!r} {len(value)}" if isinstance(value, bytes) else None,
)
async def test_bad_json_is_refused(world: World, body: bytes, status: int, kind: str) -> None:
    refused(await post_json(world, body), status, kind)


FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        *(
            ("/answer", kind)
            for kind in ("text/plain", "", "application/xml", "image/jpeg", "multipart/mixed")
        ),
        *(("/v1/chat/completions", kind) for kind in ("text/plain", *FORMS)),
    ],
)
async def test_other_content_types_are_refused(world: World, path: str, content_type: str) -> None:
    headers = {"Content-Type": content_type} if content_type else {}
    reply = await world.client.post(path, content=PHOTO, headers=headers)
    refused(reply, 415, "unsupported_media_type")
