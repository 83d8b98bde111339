"""Whatever a caller sends, the answer is a clear problem of theirs, and the next good question works."""

import base64
import gzip
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
import structlog
from anyio.from_thread import start_blocking_portal

from chassis.problems import PROBLEM_JSON
from tests.unit.chassis import pictures
from tests.unit.gateway.fakes import FakeServices, Mood
from tests.unit.gateway.platform import PHOTO, QUESTION, World, gateway_before
from tests.wire import connection, head, read_reply, send_raw

pytestmark = pytest.mark.anyio

PHOTO_64 = base64.b64encode(PHOTO).decode()
ROOT = re.escape(str(Path(__file__).resolve().parents[3]))
INSIDE = re.compile(
    rf"{ROOT}|Traceback|File \"|/usr|/srv|\.py\b|127\.0\.0\.1|0x[0-9a-f]{{6}}|pydantic|starlette", re.I
)


@asynccontextmanager
async def standing_gateway() -> AsyncIterator[World]:
    """A gateway with services of its own, on the event loop that enters this."""
    async with gateway_before(FakeServices()) as made:
        yield made


@pytest.fixture(scope="module")
def standing() -> Iterator[World]:
    """One gateway for all of these tests, on a thread: each must leave it as good as it was."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(standing_gateway()) as made:
        yield made


@pytest.fixture
async def world(standing: World, anyio_backend: object) -> AsyncIterator[World]:
    """The gateway that, whatever the test did to it, still answers a good question afterwards."""
    async with httpx.AsyncClient(base_url=standing.url, timeout=60) as client:
        made = World(client, standing.services, standing.reasoner)
        yield made
        await made.quiet()
        assert (await made.ask()).citations


def refused(reply: httpx.Response, status: int, kind: str) -> str:
    """Check the problem's form; its detail."""
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == PROBLEM_JSON
    problem = reply.json()
    assert problem["type"] == f"urn:loreglass:problem:{kind}"
    assert problem["status"] == status
    assert problem["detail"]
    assert not INSIDE.search(reply.text), reply.text
    assert len(reply.content) < 1_000
    return str(problem["detail"])


async def post_json(world: World, body: object) -> httpx.Response:
    """`body` as JSON; bytes are sent as they are."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return await world.client.post("/answer", content=raw, headers={"Content-Type": "application/json"})


def asked(**changes: Any) -> dict[str, Any]:
    """A good JSON request with some fields exchanged; None takes a field away."""
    whole = {"question": QUESTION, "image": {"base64": PHOTO_64}, **changes}
    return {name: value for name, value in whole.items() if value is not None}


async def test_both_forms_of_a_good_request_are_answered_alike(world: World) -> None:
    form, in_json = await world.post(), await post_json(world, asked())
    assert in_json.status_code == 200
    assert form.json()["answer"] == in_json.json()["answer"]


@pytest.mark.parametrize(
    "question", [None, "", "   \n\t ", "x" * 2_001, "a\x00b", "bell \x07", "\x1b[31mred"]
)
async def test_a_question_that_is_none_is_refused_in_both_forms(world: World, question: str | None) -> None:
    kind = "invalid_request"
    assert "question" in refused(await world.post(question), 422, kind)
    assert "question" in refused(await post_json(world, asked(question=question)), 422, kind)


@pytest.mark.parametrize(
    "field", ['"question": "\\ud800"', '"session_id": "\\udfff"', '"pipeline": "\\ud800"', '"\\ud800": 1']
)
async def test_a_lone_surrogate_is_refused_wherever_it_stands(world: World, field: str) -> None:
    body = f'{{"question": "Who?", "image": {{"base64": "{PHOTO_64}"}}, {field}}}'
    if field.startswith('"question'):
        body = body.replace('"question": "Who?", ', "", 1)
    reply = await post_json(world, body.encode())
    assert 400 <= reply.status_code < 500
    refused(reply, reply.status_code, reply.json()["type"].rpartition(":")[2])


@pytest.mark.parametrize(
    "text", ["Who wrote this? \U0001f4d6", "Qui a écrit «ça»?", "谁写的？", "‮evil", "a​b", "<|image|> who?"]
)
async def test_unusual_but_real_text_is_a_question(world: World, text: str) -> None:
    assert (await world.post(text)).status_code == 200
    assert (await post_json(world, asked(question=text))).status_code == 200


async def test_a_photo_or_a_session_with_one_is_needed(world: World) -> None:
    refused(await world.post(photo=None), 422, "image_required")
    refused(await post_json(world, {"question": QUESTION}), 422, "image_required")
    refused(await post_json(world, {"question": QUESTION, "image": None}), 422, "image_required")


BAD_PHOTOS: list[tuple[str, bytes, int, str]] = [
    ("empty file", b"", 422, "corrupt_image"),
    ("text as jpg", pictures.FOREIGN["text"], 415, "unsupported_image"),
    ("SVG", pictures.FOREIGN["svg"], 415, "unsupported_image"),
    ("PDF", pictures.FOREIGN["pdf"], 415, "unsupported_image"),
    ("EPS", pictures.FOREIGN["eps"], 415, "unsupported_image"),
    ("FITS", pictures.FOREIGN["fits"], 415, "unsupported_image"),
    ("DDS", pictures.FOREIGN["dds"], 415, "unsupported_image"),
    ("half a JPEG", pictures.noise("JPEG")[:900], 422, "corrupt_image"),
    ("half a PNG", pictures.noise("PNG")[:900], 422, "corrupt_image"),
    ("half a WebP", pictures.noise("WEBP")[:900], 422, "corrupt_image"),
    ("2500 megapixels", pictures.one_bit_bomb(), 413, "image_too_large"),
    ("4000 frames", pictures.long_gif(), 415, "unsupported_image"),
    ("a sliver", pictures.png(1, 65_535), 415, "unsupported_image"),
    ("20 MiB and a byte", b"\xff\xd8\xff" + bytes(20 * 2**20 - 2), 413, "image_too_large"),
]


@pytest.mark.parametrize(
    ("data", "status", "kind"), [row[1:] for row in BAD_PHOTOS], ids=[row[0] for row in BAD_PHOTOS]
)
async def test_a_bad_photo_is_refused_in_both_forms(
    world: World, data: bytes, status: int, kind: str
) -> None:
    refused(await world.post(photo=data), status, kind)
    in_json = asked(image={"base64": base64.b64encode(data).decode()})
    refused(await post_json(world, in_json), status, kind)


@pytest.mark.parametrize(
    ("mode", "kind"), [("CMYK", "JPEG"), ("I;16", "PNG"), ("I;16", "TIFF"), ("F", "TIFF"), ("1", "PNG")]
)
async def test_unusual_but_real_photos_are_answered(world: World, mode: str, kind: str) -> None:
    picture = (
        pictures.scene().convert("L").convert(mode) if mode != "CMYK" else pictures.scene().convert(mode)
    )
    assert (await world.post(photo=pictures.encoded(picture, kind))).status_code == 200


async def test_where_the_photo_was_taken_goes_nowhere(world: World) -> None:
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
        {"base64": "////"},
        {"base64": ""},
        {"base64": "A"},
        {"base64": "ä" * 40},
        {"base64": 5},
        {"base64": ["x"]},
        {},
        {"base64": PHOTO_64, "url": "https://example.com/a.jpg"},
        {"path": "/etc/passwd"},
        "just text",
        ["a"],
        5,
        True,
    ],
    ids=str,
)
async def test_an_image_field_that_is_none_is_refused(world: World, image: object) -> None:
    reply = await post_json(world, asked(image=image))
    assert reply.status_code in (415, 422)
    refused(reply, reply.status_code, reply.json()["type"].rpartition(":")[2])


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/photo.jpg",
        "file:///etc/passwd",
        "http://169.254.169.254/latest/meta-data",
        "http://[::ffff:127.0.0.1]:7101/",
        "http://2130706433/",
        "http://example.com\\@127.0.0.1/",
        "data:image/png;base64,AAAA",
        "",
        "\x00",
    ],
)
async def test_image_urls_are_off(world: World, url: str) -> None:
    detail = refused(await post_json(world, asked(image={"url": url})), 422, "image_url_not_allowed")
    assert not url or url not in detail


async def test_an_image_that_is_a_text_field_of_the_form_is_refused(world: World) -> None:
    form = [("question", (None, QUESTION)), ("image", (None, "https://example.com/a.jpg"))]
    refused(await world.client.post("/answer", files=form), 422, "invalid_request")


@pytest.mark.parametrize(
    "value", ["0", "-1", "1000000000", "60001", "soon", "1e3", "NaN", "9" * 5_000, "10.5"]
)
async def test_an_impossible_deadline_is_refused_in_the_form(world: World, value: str) -> None:
    assert "deadline_ms" in refused(await world.post(deadline_ms=value), 422, "invalid_request")


@pytest.mark.parametrize("value", [0, -1, 10**9, 10.5, "soon", [], {}, 10**30])
async def test_an_impossible_deadline_is_refused_in_json(world: World, value: object) -> None:
    detail = refused(await post_json(world, asked(deadline_ms=value)), 422, "invalid_request")
    assert "deadline_ms" in detail


@pytest.mark.parametrize("session_id", ["unknown", "x" * 32, "../../etc/passwd", "*", "a" * 10_000, "\x00"])
async def test_an_unknown_session_is_not_found(world: World, session_id: str) -> None:
    refused(await world.post(session_id=session_id), 404, "session_not_found")
    refused(await post_json(world, asked(session_id=session_id)), 404, "session_not_found")


@pytest.mark.parametrize("pipeline", ["nonsense", "__class__", "../loreglass", "x" * 10_000])
async def test_an_unknown_pipeline_is_refused_and_the_known_ones_named(world: World, pipeline: str) -> None:
    assert "loreglass" in refused(await world.post(pipeline=pipeline), 422, "pipeline_not_found")
    refused(await post_json(world, asked(pipeline=pipeline)), 422, "pipeline_not_found")


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        (b"", 400, "malformed_request"),
        (b"{", 400, "malformed_request"),
        (b"not json", 400, "malformed_request"),
        (b"\xff\xfe", 400, "malformed_request"),
        (b'{"question": "Who?"} trailing', 400, "malformed_request"),
        (b'{"question": "Who?", "question": "What?"}', 400, "malformed_request"),
        (b'{"image": {"url": "a", "url": "b"}, "question": "Who?"}', 400, "malformed_request"),
        (b'{"question": "Who?", "deadline_ms": NaN}', 400, "malformed_request"),
        (b'{"question": "Who?", "deadline_ms": -Infinity}', 400, "malformed_request"),
        (b'{"question": "Who?", "deadline_ms": ' + b"9" * 6_000 + b"}", 400, "malformed_request"),
        (b"[" * 10_000 + b"]" * 10_000, 400, "malformed_request"),
        (b'{"question":' * 10_000 + b"1" + b"}" * 10_000, 400, "malformed_request"),
        (b"[" * 1_000_000, 400, "malformed_request"),
        (b"[]", 422, "invalid_request"),
        (b"null", 422, "invalid_request"),
        (b'"Who?"', 422, "invalid_request"),
        (b'{"question": {"text": "Who?"}}', 422, "invalid_request"),
        (b'{"question": "Who?", "surprise": 1}', 422, "invalid_request"),
        (b'{"question": "Who?", "<script>": 1}', 422, "invalid_request"),
        (b'{"question": "Who?", "' + b"k" * 100_000 + b'": 1}', 422, "invalid_request"),
        (b'{"question": "Who?", "max_tokens": 1e9, "chat_template": "{{x}}"}', 422, "invalid_request"),
    ],
    ids=lambda value: f"{value[:24]!r} {len(value)}" if isinstance(value, bytes) else None,
)
async def test_json_that_is_not_a_request_is_refused(
    world: World, body: bytes, status: int, kind: str
) -> None:
    refused(await post_json(world, body), status, kind)


@pytest.mark.parametrize(
    "content_type", ["text/plain", "", "application/xml", "image/jpeg", "multipart/mixed"]
)
async def test_another_content_type_is_not_read(world: World, content_type: str) -> None:
    headers = {"Content-Type": content_type} if content_type else {}
    reply = await world.client.post("/answer", content=PHOTO, headers=headers)
    refused(reply, 415, "unsupported_media_type")


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
async def test_a_form_with_too_much_in_it_is_refused(world: World, body: bytes) -> None:
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
async def test_a_form_that_cannot_be_read_is_refused(world: World, body: bytes, content_type: str) -> None:
    reply = await post_form(world, body, content_type)
    assert reply.status_code in (400, 413, 422)
    refused(reply, reply.status_code, reply.json()["type"].rpartition(":")[2])


@pytest.mark.parametrize("name", ["image_url", "max_tokens", "<script>", "ques\x00tion", "é"])
async def test_a_field_that_does_not_exist_is_named(world: World, name: str) -> None:
    body = form_of(QUESTION_PART, PHOTO_PART, text_part(name, b"x"))
    refused(await post_form(world, body), 422, "invalid_request")


async def test_two_photos_or_two_questions_are_ambiguous(world: World) -> None:
    for doubled in (QUESTION_PART, PHOTO_PART):
        refused(await post_form(world, form_of(QUESTION_PART, PHOTO_PART, doubled)), 422, "invalid_request")


async def test_more_bytes_than_the_limit_are_refused_in_both_forms(services: FakeServices) -> None:
    async with gateway_before(services, max_body_bytes=50_000) as world:
        long = form_of(QUESTION_PART, PHOTO_PART, text_part("pipeline", b"x" * 50_000))
        refused(await post_form(world, long), 413, "payload_too_large")
        refused(await post_json(world, b" " * 50_001), 413, "payload_too_large")
        assert (await world.ask()).citations


async def test_a_body_that_never_ends_is_cut_off_at_the_limit(services: FakeServices) -> None:
    chunk = b"2000\r\n" + b" " * 0x2000 + b"\r\n"
    kind = {"Content_Type": "application/json", "Transfer_Encoding": "chunked"}
    async with gateway_before(services, max_body_bytes=100_000) as world:
        async with connection(world.url) as stream:
            await stream.send(head("POST", "/answer", **kind) + chunk * 13)
            reply = await read_reply(stream)
        assert (reply.status, reply.json()["type"]) == (413, "urn:loreglass:problem:payload_too_large")
        assert (await world.ask()).citations


@pytest.mark.parametrize("claimed", [10**12, "many", "-5", "0x10"])
async def test_a_lying_content_length_is_refused(world: World, claimed: object) -> None:
    request = head("POST", "/answer", Content_Type="application/json", Content_Length=claimed)
    async with connection(world.url) as stream:
        await stream.send(request + b"{}")
        first_line = (await stream.receive()).split(b"\r\n", 1)[0]
    assert first_line.split()[1] in (b"400", b"413")


async def test_less_body_than_claimed_ends_with_the_exchange(services: FakeServices) -> None:
    request = head("POST", "/answer", Content_Type="application/json", Content_Length=500)
    async with (
        gateway_before(services, default_deadline_ms=200) as world,
        connection(world.url) as stream,
    ):
        await stream.send(request + b"{")
        reply = await read_reply(stream)
    assert (reply.status, reply.json()["type"]) == (504, "urn:loreglass:problem:deadline_exceeded")


async def test_a_compressed_body_is_not_unpacked(world: World) -> None:
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    bomb = gzip.compress(b" " * 30_000_000)
    reply = await world.client.post("/answer", content=bomb, headers=headers)
    assert reply.status_code in (400, 415)


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
async def test_only_post_asks(world: World, method: str) -> None:
    refused(await world.client.request(method, "/answer"), 405, "method_not_allowed")


@pytest.mark.parametrize("path", ["/v1/ocr", "/docs", "/../etc/passwd", "/answer/", "/traces/", "/%00"])
async def test_what_is_not_public_is_not_there(world: World, path: str) -> None:
    reply = await send_raw(world.url, head("POST", path, Content_Length=0))
    assert reply.status in (404, 405)


async def test_two_hundred_callers_that_leave_at_once_leave_nothing_behind(services: FakeServices) -> None:
    services.ocr.mood = services.text_search.mood = Mood.HANGS
    body = form_of(QUESTION_PART, PHOTO_PART)
    kind = "multipart/form-data; boundary=edge"
    request = head("POST", "/answer", Content_Type=kind, Content_Length=len(body)) + body
    async with gateway_before(services, max_in_flight=1_000) as world:

        async def come_and_go(number: int) -> None:
            async with connection(world.url) as stream:
                await stream.send(request[: len(request) - (number % 3) * 40])

        async with anyio.create_task_group() as group:
            for number in range(200):
                group.start_soon(come_and_go, number)
        await world.quiet()
        services.ocr.mood = services.text_search.mood = Mood.WORKS
        assert (await world.ask()).citations
