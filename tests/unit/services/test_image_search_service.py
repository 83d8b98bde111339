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


async def test_a_record_of_a_photo_replaces_the_one_before_and_copies_do_not_crowd_out_others(
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


async def test_a_photo_that_cannot_be_read_is_rejected_by_itself(settings: ImageSearchSettings) -> None:
    items = [item("torn"), item("whole")]
    async with live(create_app(settings)) as client:
        await client.post("/v1/collections", json={"name": "images-1"})
        reply = await put(client, [b"not a picture", jpeg(COVER)], items)
        missing = await client.post(
            "/v1/collections/images-1/missing", json={"ids": [each["id"] for each in items]}
        )
        metrics = (await client.get("/metrics")).text
    assert reply.json()["indexed"] == 1
    assert 'loreglass_ingested_total{kind="photos",service="image_search"} 1.0' in metrics
    assert list(reply.json()["rejected"]) == [items[0]["id"]]
    assert missing.json() == {"ids": [items[0]["id"]]}


@pytest.mark.parametrize("wanted", [False, True])
async def test_thumbnails_are_optional(tmp_path: Path, wanted: bool) -> None:
    items = [item("torn"), item("blank"), item("whole")]
    blank = jpeg(np.full((64, 64, 3), 99, np.uint8))
    app = create_app(ImageSearchSettings(port=0, data_dir=tmp_path, thumbnails=wanted))
    async with live(app) as client:
        await client.post("/v1/collections", json={"name": "images-1"})
        for _ in range(2):
            await put(client, [b"not a picture", blank, jpeg(COVER)], items)
    content = {path.stem: decode_rgb(path.read_bytes()) for path in (tmp_path / "thumbnails").glob("*")}
    assert list(content) == ([items[2]["id"]] if wanted else [])
    assert all(max(picture.shape) == SIDE for picture in content.values())
    for each in items:
        assert (Thumbnails(tmp_path).read(each["id"]) is not None) == (each["id"] in content)


async def test_embeddings_have_the_de_facto_shape(settings: ImageSearchSettings) -> None:
    uri = "data:image/jpeg;base64," + base64.b64encode(jpeg(COVER)).decode()
    async with live(create_app(settings)) as client:
        body = {"model": "m", "input": [uri, uri], "modality": "image"}
        reply = (await client.post("/v1/embeddings", json=body)).json()
    assert (reply["object"], reply["model"]) == ("list", "m")
    assert [(each["object"], each["index"]) for each in reply["data"]] == [("embedding", 0), ("embedding", 1)]
    assert np.linalg.norm(reply["data"][0]["embedding"]) == pytest.approx(1, abs=1e-4)


async def test_wrong_searches_are_answered_with_their_problem(settings: ImageSearchSettings) -> None:
    photo = jpeg(COVER)
    async with live(create_app(settings)) as client:
        replies = {
            "collection_not_found": await search(client, photo),
            "unsupported_image": await search(client, b"words"),
            "invalid_request": await search(client, photo, k="0"),
        }
        crowd = await search(client, *[photo] * (settings.max_images + 1))
    kinds = {kind: reply.json()["type"] for kind, reply in replies.items()}
    assert kinds == {kind: f"urn:loreglass:problem:{kind}" for kind in replies}
    assert crowd.status_code == 422


async def test_invalid_items_and_uris_are_refused(settings: ImageSearchSettings) -> None:
    items = {
        "{": "malformed_request",
        '{"items": [{"id": "7", "entity": "x"}]}': "invalid_request",
        '{"items": []}': "invalid_request",
        '{"items": [{"entity": "x"}]}': "invalid_request",
    }
    uris = {
        "https://things.example/x.jpg": "invalid_request",
        "/etc/hostname": "invalid_request",
        "data:image/jpeg;base64,%%%": "malformed_request",
        "data:image/jpeg;base64,aGVsbG8=": "unsupported_image",
    }
    files = [("images", ("x", jpeg(COVER), "image/jpeg"))]
    async with live(create_app(settings)) as client:
        for item, kind in items.items():
            data = {"items": item}
            reply = await client.put("/v1/collections/images-1/images", files=files, data=data)
            assert reply.json()["type"] == f"urn:loreglass:problem:{kind}", item
            assert "items" in reply.json()["detail"]
        for uri, kind in uris.items():
            reply = await client.post("/v1/embeddings", json={"input": [uri]})
            assert reply.json()["type"] == f"urn:loreglass:problem:{kind}", uri
        for texts in ([], [""], ["x" * 2_001], ["x"] * 17):
            reply = await client.post("/v1/image-search/text", json={"texts": texts})
            assert reply.json()["type"] == "urn:loreglass:problem:invalid_request", texts
