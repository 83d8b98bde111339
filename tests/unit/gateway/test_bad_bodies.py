"""Bad bodies are refused with a clear problem, and the next good question works."""

import gzip

import httpx
import pytest

from tests.unit.gateway import hostile
from tests.unit.gateway.hostile import refused
from tests.unit.gateway.platform import PHOTO, QUESTION, World
from tests.wire import head, send_raw

pytestmark = pytest.mark.anyio

standing, world = hostile.standing, hostile.world  # fixtures of these tests


def form_of(*parts: bytes, boundary: bytes = b"edge") -> bytes:
    """A multipart body of raw parts."""
    return (
        b"".join(b"--" + boundary + b"\r\n" + part + b"\r\n" for part in parts) + b"--" + boundary + b"--\r\n"
    )


def text_part(name: str, value: bytes) -> bytes:
    return f'Content-Disposition: form-data; name="{name}"\r\n\r\n'.encode() + value


QUESTION_PART = text_part("question", QUESTION.encode())
PHOTO_PART = (
    b'Content-Disposition: form-data; name="image"; filename="a.jpg"\r\nContent-Type: image/jpeg\r\n\r\n'
    + PHOTO
)


async def post_form(
    world: World, body: bytes, kind: str = "multipart/form-data; boundary=edge"
) -> httpx.Response:
    return await world.client.post("/answer", content=body, headers={"Content-Type": kind})


@pytest.mark.parametrize(
    "body",
    [
        form_of(*[text_part(f"field{number}", b"x") for number in range(10_000)]),
        form_of(*[text_part("question", b"x")] * 10_000),
        form_of(*[PHOTO_PART] * 30),
        form_of(text_part("question", b"x" * 2_000_000), PHOTO_PART),
    ],
    ids=["10k fields", "10k times one field", "30 photos", "2 MB of question"],
)
async def test_too_large_form_is_refused(world: World, body: bytes) -> None:
    refused(await post_form(world, body), 413, "payload_too_large")


# A part that was cut short is closed by the collector, not by the form parser.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"", "multipart/form-data"),
        (b"no parts here", "multipart/form-data; boundary=edge"),
        (form_of(PHOTO_PART), "multipart/form-data"),
        (form_of(PHOTO_PART)[:-60], "multipart/form-data; boundary=edge"),
        (form_of(b"Content-Disposition: nonsense\r\n\r\nx"), "multipart/form-data; boundary=edge"),
        (form_of(b"X: " + b"y" * 100_000 + b"\r\n\r\nx"), "multipart/form-data; boundary=edge"),
        (form_of(PHOTO_PART, boundary=b"other"), "multipart/form-data; boundary=edge"),
        (form_of(PHOTO_PART), "multipart/form-data; boundary=" + "b" * 5_000),
    ],
    ids=[
        "nothing",
        "no parts",
        "no boundary",
        "cut short",
        "no name",
        "huge header",
        "other edge",
        "long edge",
    ],
)
async def test_unreadable_form_is_refused(world: World, body: bytes, content_type: str) -> None:
    reply = await post_form(world, body, content_type)
    assert reply.status_code in (400, 413, 422)
    refused(reply, reply.status_code, reply.json()["type"].rpartition(":")[2])


@pytest.mark.parametrize("name", ["image_url", "ques\x00tion", "é"])
async def test_unknown_field_is_refused(world: World, name: str) -> None:
    body = form_of(QUESTION_PART, PHOTO_PART, text_part(name, b"x"))
    refused(await post_form(world, body), 422, "invalid_request")


async def test_repeated_field_is_refused(world: World) -> None:
    for doubled in (QUESTION_PART, PHOTO_PART):
        refused(await post_form(world, form_of(QUESTION_PART, PHOTO_PART, doubled)), 422, "invalid_request")


@pytest.mark.parametrize("path", ["/answer", "/v1/chat/completions"])
@pytest.mark.parametrize("kind", ["application/json", "multipart/form-data; boundary=edge"])
async def test_a_compressed_body_is_refused_by_name(world: World, path: str, kind: str) -> None:
    headers = {"Content-Type": kind, "Content-Encoding": "gzip"}
    reply = await world.client.post(path, content=gzip.compress(b" " * 30_000_000), headers=headers)
    assert reply.status_code == 415
    assert "Content-Encoding" in reply.text


@pytest.mark.parametrize("path", ["/v1/ocr", "/docs", "/../etc/passwd", "/answer/", "/traces/", "/%00"])
async def test_unknown_path_is_not_found(world: World, path: str) -> None:
    reply = await send_raw(world.url, head("POST", path, Content_Length=0))
    assert reply.status in (404, 405)
