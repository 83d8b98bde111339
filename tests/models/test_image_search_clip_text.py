"""image_search's CLIP engine by text: equal to transformers' on the same weights, and through its service."""

import base64
import io
import json
import uuid
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import numpy.typing as npt
import pytest
import torch
from PIL import Image
from transformers import CLIPModel

from chassis.accelerator import Accelerator
from contracts.image_search import ImageSearchReply
from services.image_search.app import create_app
from services.image_search.engine import RGB
from services.image_search.engines.clip import ClipEncoder
from services.image_search.settings import ImageSearchSettings
from tests.live import live
from tests.models.conftest import Parity
from tests.models.tiny_clip import SHARED, TinyClip, tiny_clip
from tests.unit.services.sample_pictures import KINDS, picture

CPU = Accelerator("cpu", "float32")
TEXTS = (
    "a bronze statue of a seated man",
    "Two pandas climb a bamboo.",
    "the cover of a blue book, and beside it a lamp",
    "ÉGLISE — 11th century",
    "x",
)
FIRST, LAST = 49_406, 49_407
"""CLIP's marks of a text's start and end."""


@pytest.fixture(scope="session", params=[True, False], ids=["quick_gelu", "gelu"])
def either_clip(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> TinyClip:
    return tiny_clip(tmp_path_factory.mktemp("clip"), request.param)


@pytest.fixture(scope="session")
def clip(tmp_path_factory: pytest.TempPathFactory) -> TinyClip:
    return tiny_clip(tmp_path_factory.mktemp("clip"))


def token_ids(text: str, most: int = 16) -> list[int]:
    """CLIP's byte pairs, whose tables open_clip carries, between their marks; a long text is cut."""
    from open_clip.tokenizer import SimpleTokenizer

    return [FIRST, *SimpleTokenizer().encode(text)[: most - 2], LAST]


def reference_vectors(folder: Path, texts: tuple[str, ...]) -> npt.NDArray[np.float32]:
    """Each text by itself, without padding, through transformers' text tower; normalised."""
    model = CLIPModel.from_pretrained(folder).eval()
    rows = []
    with torch.inference_mode():
        for text in texts:
            pooled = model.text_model(input_ids=torch.tensor([token_ids(text)])).pooler_output
            rows.append(torch.nn.functional.normalize(pooled @ model.text_projection.weight.T, dim=-1)[0])
    vectors: npt.NDArray[np.float32] = torch.stack(rows).numpy()
    return vectors


def test_vectors_of_texts_equal_transformers_clip_on_the_same_weights(
    either_clip: TinyClip, parity: Parity
) -> None:
    encoder = ClipEncoder(str(either_clip.folder), CPU, texts=True)
    ours = np.stack(encoder.forward_texts(TEXTS))
    expected = reference_vectors(either_clip.reference, TEXTS)
    difference = np.abs(ours - expected).max()
    parity("image_search: open_clip, texts", f"transformers CLIPModel, {either_clip.activation}", difference)
    assert ours.shape == (len(TEXTS), SHARED)
    assert (expected @ expected.T).min() < 0.9, "the texts must differ for the comparison to mean anything"


def test_a_text_s_vector_does_not_depend_on_who_is_in_the_batch_and_a_long_one_is_cut(clip: TinyClip) -> None:
    encoder = ClipEncoder(str(clip.folder), CPU, texts=True)
    long = "a red door " * 400
    together = np.stack(encoder.forward_texts([*TEXTS, long]))
    alone = np.stack([encoder.forward_texts([text])[0] for text in [*TEXTS, long]])
    assert np.abs(together - alone).max() < 1e-5
    assert np.abs(together[-1] - reference_vectors(clip.reference, (long,))[0]).max() < 1e-5


def test_photos_have_the_same_vectors_with_the_text_tower_and_without_it(clip: TinyClip) -> None:
    both, photos_only = (ClipEncoder(str(clip.folder), CPU, texts=texts) for texts in (True, False))
    views = both.views(picture(KINDS[0], 240))
    assert np.array_equal(np.stack(both.forward(views)), np.stack(photos_only.forward(views)))
    held = sum(weight.numel() for weight in both._text.parameters())
    assert held > sum(weight.numel() for weight in photos_only._tower.parameters())


def png(photo: RGB) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(photo).save(buffer, "PNG")
    return buffer.getvalue()


def settings(clip: TinyClip, data_dir: Path, **others: Any) -> ImageSearchSettings:
    return ImageSearchSettings(
        port=0, data_dir=data_dir, engine="clip", model=str(clip.folder), device="cpu", **others
    )


async def fill(client: httpx.AsyncClient, things: dict[str, RGB]) -> None:
    """`things`, indexed and published."""
    items = [{"id": str(uuid.uuid5(uuid.NAMESPACE_OID, entity)), "entity": entity} for entity in things]
    await client.post("/v1/collections", json={"name": "images-1"})
    reply = await client.put(
        "/v1/collections/images-1/images",
        files=[("images", ("x.png", png(photo), "image/png")) for photo in things.values()],
        data={"items": json.dumps({"items": items})},
    )
    assert reply.json() == {"indexed": len(things), "rejected": {}}
    await client.post("/v1/aliases", json={"alias": "images", "collection": "images-1"})


@pytest.mark.anyio
async def test_texts_find_the_pictures_that_the_model_has_nearest(clip: TinyClip, tmp_path: Path) -> None:
    things = {name: picture(name, 240) for name in KINDS}
    async with live(create_app(settings(clip, tmp_path))) as client:
        await fill(client, things)
        replies = [
            await client.post("/v1/image-search/text", json={"texts": [text], "k": 3}) for text in TEXTS
        ]
        together = await client.post("/v1/image-search/text", json={"texts": list(TEXTS), "k": 3})
        embedded = await client.post(
            "/v1/embeddings", json={"input": [data_uri(photo) for photo in things.values()]}
        )
        info = (await client.get("/info")).json()
        metrics = (await client.get("/metrics")).text
    pictures = np.array([row["embedding"] for row in embedded.json()["data"]], np.float32)
    cosines = reference_vectors(clip.reference, TEXTS) @ pictures.T
    names = list(things)
    for reply, row in zip(replies, cosines, strict=True):
        hits = ImageSearchReply.model_validate_json(reply.content).hits
        assert [hit.entity for hit in hits] == [names[place] for place in np.argsort(-row)[:3]]
        expected = 1 / (1 + np.exp(-30 * (np.sort(row)[::-1][:3] - 0.25)))
        assert [hit.score for hit in hits] == pytest.approx(expected, abs=1e-4)
    best = ImageSearchReply.model_validate_json(together.content).hits[0]
    assert best.image_index == int(cosines.max(axis=1).argmax())
    assert best.entity == names[int(cosines.max(axis=0).argmax())]
    assert info["takes"] == ["image", "text"]
    assert 'loreglass_batch_items_count{forward="clip_text",service="image_search"}' in metrics


def data_uri(photo: RGB) -> str:
    return "data:image/png;base64," + base64.b64encode(png(photo)).decode()


@pytest.mark.anyio
@pytest.mark.parametrize(
    "body",
    [
        {},
        {"texts": []},
        {"texts": [""]},
        {"texts": "a statue"},
        {"texts": ["x" * 2_001]},
        {"texts": ["x"] * 17},
        {"texts": ["x"], "k": 0},
        {"texts": ["x"], "images": []},
    ],
)
async def test_a_wrong_request_is_refused(clip: TinyClip, tmp_path: Path, body: Any) -> None:
    async with live(create_app(settings(clip, tmp_path))) as client:
        reply = await client.post("/v1/image-search/text", json=body)
    assert (reply.status_code, reply.json()["type"]) == (422, "urn:loreglass:problem:invalid_request")


@pytest.mark.anyio
async def test_without_its_text_tower_a_text_is_refused_and_the_service_says_so(
    clip: TinyClip, tmp_path: Path
) -> None:
    async with live(create_app(settings(clip, tmp_path, texts=False))) as client:
        reply = await client.post("/v1/image-search/text", json={"texts": ["a statue"]})
        info = (await client.get("/info")).json()
    assert (reply.status_code, reply.json()["type"]) == (422, "urn:loreglass:problem:not_supported")
    assert info["takes"] == ["image"]


@pytest.mark.anyio
async def test_a_text_finds_nothing_where_nothing_is_indexed(clip: TinyClip, tmp_path: Path) -> None:
    async with live(create_app(settings(clip, tmp_path))) as client:
        reply = await client.post("/v1/image-search/text", json={"texts": ["a statue"]})
    assert reply.json()["type"] == "urn:loreglass:problem:collection_not_found"
