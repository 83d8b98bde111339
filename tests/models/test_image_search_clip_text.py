"""Text search with the CLIP engine of image_search, against transformers and in its service."""

import base64
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
from transformers import CLIPModel

from chassis.accelerator import Accelerator
from contracts.image_search import ImageSearchReply
from services.image_search.app import create_app
from services.image_search.engine import RGB
from services.image_search.engines.clip import ClipEncoder
from tests.live import live
from tests.models.conftest import Parity
from tests.models.test_image_search_clip import settings
from tests.models.tiny_clip import SHARED, TinyClip
from tests.unit.services.image_search_calls import fill, jpeg
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


def test_text_vectors_equal_transformers_clip(either_clip: TinyClip, parity: Parity) -> None:
    encoder = ClipEncoder(str(either_clip.folder), CPU, texts=True)
    ours = np.stack(encoder.forward_texts(TEXTS))
    expected = reference_vectors(either_clip.reference, TEXTS)
    difference = np.abs(ours - expected).max()
    parity("image_search: open_clip, texts", f"transformers CLIPModel, {either_clip.activation}", difference)
    assert ours.shape == (len(TEXTS), SHARED)
    assert (expected @ expected.T).min() < 0.9, "the texts must differ for the comparison to mean anything"


def test_text_vector_is_batch_independent_and_long_text_is_cut(clip: TinyClip) -> None:
    encoder = ClipEncoder(str(clip.folder), CPU, texts=True)
    long = "a red door " * 400
    together = np.stack(encoder.forward_texts([*TEXTS, long]))
    alone = np.stack([encoder.forward_texts([text])[0] for text in [*TEXTS, long]])
    assert np.abs(together - alone).max() < 1e-5
    assert np.abs(together[-1] - reference_vectors(clip.reference, (long,))[0]).max() < 1e-5


@pytest.mark.anyio
async def test_texts_find_the_pictures_that_the_model_has_nearest(clip: TinyClip, tmp_path: Path) -> None:
    things = {name: picture(name, 240) for name in KINDS}
    async with live(create_app(settings(clip, tmp_path))) as client:
        assert (await fill(client, things)).json() == {"indexed": len(things), "rejected": {}}
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
    return "data:image/jpeg;base64," + base64.b64encode(jpeg(photo)).decode()
