"""The ocr service over HTTP."""

import io

import httpx
import pytest
from PIL import Image

from chassis.scope import scope_of
from contracts.headers import CACHE_SCOPE
from contracts.ocr import OcrReply
from services.ocr.app import create_app
from services.ocr.reading import PhotoReader, ReplyCache
from services.ocr.settings import OcrSettings
from tests.live import live
from tests.unit.services.ocr_pictures import page, squeezed

pytestmark = pytest.mark.anyio


def jpeg(text: str = "The Salt Road") -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(page([(40, 80, text)], (640, 480))).save(buffer, "JPEG")
    return buffer.getvalue()


async def read(client: httpx.AsyncClient, data: bytes) -> httpx.Response:
    return await client.post("/v1/ocr", files={"image": ("photo.jpg", data, "image/jpeg")})


async def test_a_photo_is_read_once_and_text_renamed_to_jpg_is_refused() -> None:
    app = create_app(OcrSettings(port=0))
    async with live(app) as client:
        refused = await read(client, b"just words")
        first = await read(client, jpeg())
        app.state.pool.close()  # whatever needs the engine fails from here on
        again = await read(client, jpeg())
    assert (refused.status_code, refused.json()["type"]) == (415, "urn:loreglass:problem:unsupported_image")
    assert again.json() == first.json()
    reply = OcrReply.model_validate(first.json())
    assert [squeezed(line.text) for line in reply.lines] == ["thesaltroad"]
    assert (reply.width, reply.height) == (640, 480)
    assert len(reply.lines[0].quadrilateral) == 4


async def test_what_one_scope_has_asked_is_not_found_by_another() -> None:
    app, looked_up = create_app(OcrSettings(port=0)), list[bool]()
    app.state.reader = PhotoReader(OcrSettings().max_side, 8, looked_up.append)
    one, other = (scope_of(b"secret", tenant) for tenant in ("acme", "bolt"))
    async with live(app) as client:
        for scope in (one, other, None, "no scope's name", one, other):
            client.headers[CACHE_SCOPE] = scope or ""
            assert (await read(client, jpeg())).status_code == 200
    assert looked_up == [False, False, False, True, True, True]


def test_the_cache_forgets_the_least_recently_used() -> None:
    cache = ReplyCache(2)
    replies = [OcrReply(lines=[], width=side, height=side) for side in (1, 2, 3)]
    cache.put(("", "a"), replies[0])
    cache.put(("", "b"), replies[1])
    assert cache.get(("", "a")) == replies[0]
    cache.put(("", "c"), replies[2])
    assert cache.get(("", "b")) is None
    assert (cache.get(("", "a")), cache.get(("", "c")), len(cache)) == (replies[0], replies[2], 2)
