"""image_search over HTTP."""

import base64
from pathlib import Path

import numpy as np
import pytest

from chassis.pixels import decode_rgb
from contracts.image_search import ImageSearchReply
from services.image_search.app import create_app
from services.image_search.settings import ImageSearchSettings
from services.image_search.thumbnails import SIDE, Thumbnails
from tests.live import live
from tests.unit.services.image_search_calls import item, jpeg, put, search
from tests.unit.services.sample_pictures import picture, warped

COVER = picture("book-0088")


@pytest.fixture
def settings(tmp_path: Path) -> ImageSearchSettings:
    return ImageSearchSettings(port=0, data_dir=tmp_path)


async def test_an_indexed_thing_is_found_in_a_photo_of_it(settings: ImageSearchSettings) -> None:
    catalogue = jpeg(COVER)
    other = jpeg(picture("game-0070"))
    photo = jpeg(warped(COVER))
    blank = jpeg(np.full((64, 64, 3), 99, np.uint8))
    async with live(create_app(settings)) as client:
        await client.post("/v1/collections", json={"name": "images-1"})
        put_reply = await put(
            client,
            [catalogue, other],
            [item("The Salt Road", attributes={"author": "Mira Holm"}), item("Fair")],
        )
        await client.post("/v1/aliases", json={"alias": "images", "collection": "images-1"})
        reply = await search(client, blank, photo, k="1")
    assert put_reply.json() == {"indexed": 2, "rejected": {}}
    response = ImageSearchReply.model_validate_json(reply.content)
    assert response.collection == "images"
    (hit,) = response.hits
    assert (hit.entity, hit.attributes, hit.image_index) == ("The Salt Road", {"author": "Mira Holm"}, 1)
    assert hit.score > 0.8


async def test_photo_record_is_replaced_and_copies_count_once(
    settings: ImageSearchSettings,
) -> None:
    cover, other = jpeg(COVER), jpeg(picture("game-0070"))
    async with live(create_app(settings)) as client:
        await client.post("/v1/collections", json={"name": "images-1"})
        for number, height in enumerate(("330 m", "331 m")):
            known = {"attributes": {"height": height}, "address": "file:a/cover.jpg", "source": "a"}
            await put(client, [cover], [{**item(f"{number}"), "entity": "Tower", **known}])
        copies = [{**item(f"copy {number}"), "entity": "Tower"} for number in range(9)]
        await put(client, [cover] * 9, copies)
        await put(client, [other], [item("Fair")])
        named = await client.post(
            "/v1/collections/images-1/documents/rename", json={"address": "file:a/cover.jpg", "name": "Mast"}
        )
        await client.post("/v1/aliases", json={"alias": "images", "collection": "images-1"})
        listed = (await client.get("/v1/collections/images/documents?source=a")).json()
        reply = ImageSearchReply.model_validate_json((await search(client, cover, k="3")).content)
    assert named.json()["attributes"] == {"height": "331 m"}
    assert ([each["name"] for each in listed["documents"]], listed["total"]) == (["Mast"], 11)
    assert {hit.entity for hit in reply.hits} == {"Tower", "Mast"}


@pytest.mark.parametrize("wanted", [False, True])
async def test_a_photo_that_cannot_be_read_is_rejected_and_thumbnails_are_optional(
    tmp_path: Path, wanted: bool
) -> None:
    items = [item("torn"), item("blank"), item("whole")]
    ids = [each["id"] for each in items]
    photos = [b"not a picture", jpeg(np.full((64, 64, 3), 99, np.uint8)), jpeg(COVER)]
    app = create_app(ImageSearchSettings(port=0, data_dir=tmp_path, thumbnails=wanted))
    async with live(app) as client:
        await client.post("/v1/collections", json={"name": "images-1"})
        replies = [(await put(client, photos, items)).json() for _ in range(2)]
        missing = await client.post("/v1/collections/images-1/missing", json={"ids": ids})
        metrics = (await client.get("/metrics")).text
    assert [(reply["indexed"], list(reply["rejected"])) for reply in replies] == [(1, ids[:2])] * 2
    assert missing.json() == {"ids": ids[:2]}
    assert 'loreglass_ingested_total{kind="photos",service="image_search"} 2.0' in metrics
    content = {path.stem: decode_rgb(path.read_bytes()) for path in (tmp_path / "thumbnails").glob("*")}
    assert list(content) == (ids[2:] if wanted else [])
    assert all(max(picture.shape) == SIDE for picture in content.values())
    for each in ids:
        assert (Thumbnails(tmp_path).read(each) is not None) == (each in content)


async def test_embeddings_have_openais_shape(settings: ImageSearchSettings) -> None:
    uri = "data:image/jpeg;base64," + base64.b64encode(jpeg(COVER)).decode()
    async with live(create_app(settings)) as client:
        body = {"model": "m", "input": [uri, uri], "modality": "image"}
        reply = (await client.post("/v1/embeddings", json=body)).json()
    assert (reply["object"], reply["model"]) == ("list", "m")
    assert [(each["object"], each["index"]) for each in reply["data"]] == [("embedding", 0), ("embedding", 1)]
    assert np.linalg.norm(reply["data"][0]["embedding"]) == pytest.approx(1, abs=1e-4)


async def test_invalid_searches_items_and_uris_are_refused(settings: ImageSearchSettings) -> None:
    items = {
        "{": "malformed_request",
        '{"items": [{"id": "7", "entity": "x"}]}': "invalid_request",
        '{"items": []}': "invalid_request",
    }
    uris = {
        "https://things.example/x.jpg": "invalid_request",
        "/etc/hostname": "invalid_request",
        "data:image/jpeg;base64,%%%": "malformed_request",
        "data:image/jpeg;base64,aGVsbG8=": "unsupported_image",
    }
    photo = jpeg(COVER)
    async with live(create_app(settings)) as client:
        for photos, fields, kind in (
            ([photo], {}, "collection_not_found"),
            ([b"words"], {}, "unsupported_image"),
            ([photo], {"k": "0"}, "invalid_request"),
        ):
            reply = await search(client, *photos, **fields)
            assert reply.json()["type"] == f"urn:loreglass:problem:{kind}"
        assert (await search(client, *[photo] * (settings.max_images + 1))).status_code == 422
        for item, kind in items.items():
            files = [("images", ("x", photo, "image/jpeg"))]
            reply = await client.put("/v1/collections/a/images", files=files, data={"items": item})
            assert reply.json()["type"] == f"urn:loreglass:problem:{kind}", item
            assert "items" in reply.json()["detail"]
        for uri, kind in uris.items():
            reply = await client.post("/v1/embeddings", json={"input": [uri]})
            assert reply.json()["type"] == f"urn:loreglass:problem:{kind}", uri
