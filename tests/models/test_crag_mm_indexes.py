"""Both services on indexes that Chroma wrote, with tiny models. Needs `pip install 'loreglass[crag-mm]'`."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from chassis.accelerator import Accelerator
from chassis.startup import WrongSettings
from chassis.vectors.chroma import ChromaIndex
from services.image_search.app import create_app as image_app
from services.image_search.engines.clip import ClipEncoder
from services.image_search.settings import ImageSearchSettings
from services.text_search.app import create_app as text_app
from services.text_search.engine import Instructions, Pooling
from services.text_search.engines.bge import BgeEncoder, BgeModel
from services.text_search.settings import TextSearchSettings
from tests.live import live
from tests.models.tiny_bge import SIZE, tiny_bge
from tests.unit.services.image_search_calls import jpeg, search
from tests.unit.services.sample_pictures import KINDS, picture

if TYPE_CHECKING:
    from tests.models.tiny_clip import TinyClip

chromadb = pytest.importorskip("chromadb")
lmdb = pytest.importorskip("lmdb")

CPU = Accelerator("cpu", "float32")
TEXTS = {"cat": "A red cat.", "dog": "Is it a dog or a book?", "tower": "The tower was built by Ada."}


def write_index(
    folder: Path, name: str, vectors: Sequence[Any], ids: Sequence[str], metadatas: Sequence[dict[str, str]]
) -> None:
    """Write an index in the shape of the published ones."""
    client = chromadb.PersistentClient(str(folder), chromadb.Settings(anonymized_telemetry=False))
    collection = client.create_collection(name, metadata={"hnsw:space": "cosine"})
    embeddings = [vector.tolist() for vector in vectors]
    collection.add(embeddings=embeddings, ids=list(ids), metadatas=list(metadatas))


async def test_web_index_is_searched_by_its_own_vectors(tmp_path: Path) -> None:
    weights = tiny_bge(tmp_path / "bge-tiny")
    model = BgeModel(str(weights), CPU, Pooling.MEAN)
    vectors = BgeEncoder(model, None, Instructions("", "")).queries(list(TEXTS.values()))
    urls = [f"https://pages.org/{name}" for name in TEXTS]
    described = [
        {"page_name": name, "page_snippet": "A snippet.", "page_url": url}
        for name, url in zip(TEXTS, urls, strict=True)
    ]
    write_index(
        tmp_path / "web", "web_search_embeddings", vectors, [f"{url}_chunk_1" for url in urls], described
    )
    (tmp_path / "pages").mkdir()
    with (
        lmdb.open(str(tmp_path / "pages/shard_0.mdb"), subdir=False, lock=False) as shard,
        shard.begin(write=True) as stored,
    ):
        key = hashlib.sha256(urls[1].encode()).hexdigest()
        stored.put(key.encode(), json.dumps({"page_result": "<p>The whole page.</p>"}).encode())
    settings = TextSearchSettings(
        engine="crag-mm", model=str(weights), index_dir=tmp_path / "web", pages_dir=tmp_path / "pages"
    )
    async with live(text_app(settings)) as client:
        replies = [
            await client.post("/v1/text-search", json={"queries": [text], "k": 2}) for text in TEXTS.values()
        ]
    hits = [reply.json()["hits"] for reply in replies]
    assert [each[0]["url"] for each in hits] == urls
    assert [each[0]["score"] for each in hits] == pytest.approx([1.0] * 3, abs=1e-5)
    assert [each[0]["snippet"] for each in hits] == ["A snippet.", "The whole page.", "A snippet."]


async def test_image_index_is_searched_by_its_own_vectors(clip: "TinyClip", tmp_path: Path) -> None:
    photos = [picture(name, 120) for name in KINDS]
    encoder = ClipEncoder(str(clip.folder), CPU)
    vectors = encoder.forward([encoder.views(np.asarray(Image.fromarray(each)))[0] for each in photos])
    described = [
        {
            "image_url": f"https://pictures.org/{name}.jpg",
            "entities": json.dumps(name),
            "info": json.dumps({name: {"kind": "[[Thing]]"}}),
        }
        for name in KINDS
    ]
    write_index(
        tmp_path, "image_embeddings", vectors, [str(place) for place in range(len(photos))], described
    )
    settings = ImageSearchSettings(engine="crag-mm", model=str(clip.folder), index_dir=tmp_path)
    async with live(image_app(settings)) as client:
        reply = await search(client, jpeg(photos[2]), k="3")
        by_text = await client.post("/v1/image-search/text", json={"texts": ["a tower"], "k": 1})
        takes = (await client.get("/info")).json()["takes"]
    hits = reply.json()["hits"]
    assert [len(hits), hits[0]["entity"], hits[0]["attributes"]] == [3, list(KINDS)[2], {"kind": "Thing"}]
    assert hits[0]["cosine"] > 0.99
    assert len(by_text.json()["hits"]) == 1
    assert takes == ["image", "text"]


@pytest.mark.parametrize(("name", "size"), [("another", SIZE), ("web_search_embeddings", SIZE + 1)])
def test_an_index_of_another_name_or_model_is_refused(name: str, size: int, tmp_path: Path) -> None:
    write_index(tmp_path, "web_search_embeddings", [np.ones(SIZE)], ["a"], [{"page_name": "A"}])
    with pytest.raises(WrongSettings, match=f"the collection {name} cannot be searched"):
        ChromaIndex(tmp_path, name, size)
