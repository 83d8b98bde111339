"""The CLIP engine of image_search on tiny weights, against transformers and in its service."""

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from transformers import CLIPModel
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

from chassis.accelerator import Accelerator
from chassis.http.remote import data_uri
from chassis.models.pretrained import WrongWeights
from chassis.rgb import RGB
from contracts.image_search import ImageSearchReply
from services.image_search.app import create_app
from services.image_search.engines.clip import ClipEncoder
from services.image_search.engines.views import Fit, Frame, framed_views
from services.image_search.settings import ImageSearchSettings
from tests.live import live
from tests.models.conftest import Parity
from tests.models.tiny_clip import SHARED, SIDE, TinyClip
from tests.unit.services.image_search_calls import fill, jpeg
from tests.unit.services.sample_pictures import KINDS, picture

CPU = Accelerator("cpu", "float32")
WEIGHTS = "open_clip_model.safetensors"
CONFIG = "open_clip_config.json"


@pytest.fixture(scope="session")
def photos() -> list[RGB]:
    """Square, wide and tall, with sides that leave odd remainders."""
    drawn = [picture(name, 240) for name in KINDS]
    cut = [photo[:151, : 77 + 30 * place] for place, photo in enumerate(drawn)]
    return [*drawn, *cut]


def reference_pixels(photos: Sequence[RGB]) -> Any:
    """What CLIPImageProcessor makes of them, (n, 3, SIDE, SIDE)."""
    processor = CLIPImageProcessorPil(size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE})
    pictures = [Image.fromarray(photo) for photo in photos]
    return torch.cat([processor(images=each, return_tensors="pt")["pixel_values"] for each in pictures])


def reference_vectors(folder: Path, pixels: Any) -> npt.NDArray[np.float32]:
    """The normalised image features of transformers' CLIPModel."""
    model = CLIPModel.from_pretrained(folder).eval()
    with torch.inference_mode():
        pooled = model.vision_model(pixel_values=pixels).pooler_output
        features = pooled @ model.visual_projection.weight.T
    vectors: npt.NDArray[np.float32] = (features / features.norm(dim=-1, keepdim=True)).numpy()
    return vectors


def test_vectors_equal_transformers_clip_on_the_same_weights(
    either_clip: TinyClip, photos: list[RGB], parity: Parity
) -> None:
    encoder = ClipEncoder(str(either_clip.folder), CPU)
    ours = np.stack(encoder.forward([encoder.views(photo)[0] for photo in photos]))
    expected = reference_vectors(either_clip.reference, reference_pixels(photos))
    parity(
        "image_search: open_clip",
        f"transformers CLIPModel, {either_clip.activation}",
        np.abs(ours - expected).max(),
    )
    assert (expected @ expected.T).min() < 0.5, "the photos must differ for the comparison to mean anything"


@pytest.mark.parametrize("fit", list(Fit))
def test_resize_modes_match_open_clip(fit: Fit, parity: Parity) -> None:
    from open_clip.transform import PreprocessCfg, image_transform_v2

    transform = image_transform_v2(PreprocessCfg(size=SIDE, resize_mode=fit.value), is_train=False)
    noise = np.random.default_rng(2)
    shapes = [(90, 60), (60, 90), (70, 70)]  # what is cut off is even: the two round halves apart
    photos = [noise.integers(0, 255, (*shape, 3), np.uint8) for shape in shapes]
    expected = torch.stack([transform(Image.fromarray(photo)) for photo in photos])
    mean, deviation = (torch.tensor(each).view(3, 1, 1) for each in (PreprocessCfg.mean, PreprocessCfg.std))
    views = np.stack([framed_views(photo, Frame(SIDE, SIDE, fit))[0] for photo in photos])
    ours = (torch.from_numpy(views).permute(0, 3, 1, 2) / 255 - mean) / deviation
    parity("image_search: preprocessing", f"open_clip, {fit}", (ours - expected).abs().max().item(), 1e-5)


def test_photo_vector_is_batch_independent(clip: TinyClip, photos: list[RGB]) -> None:
    encoder = ClipEncoder(str(clip.folder), CPU)
    views = [view for photo in photos for view in encoder.views(photo)]
    together = np.stack(encoder.forward(views))
    alone = np.stack([encoder.forward([view])[0] for view in views])
    assert len(views) > len(photos)
    assert together.shape == (len(views), encoder.size) == (len(views), SHARED)
    assert together.dtype == np.float32
    assert np.abs(together - alone).max() < 1e-5
    assert np.linalg.norm(together, axis=1) == pytest.approx(np.ones(len(views)), abs=1e-5)


@pytest.mark.parametrize(
    ("model", "text"),
    [
        ("/nowhere/clip", "There is no folder"),
        ("ViT-L-14-336", "names no weights"),
        ("ViT-L-14-336:openai", "belong to ViT-L-14-336-quickgelu"),
        ("ViT-L-14-quickgelu:laion400m_e32", "open_clip knows no weights"),
        ("ViT-Q-99:openai", "no architecture 'ViT-Q-99'"),
        ("hf-hub:acme/clip", "cannot be loaded from 'hf-hub:acme/clip'"),
        ("acme/clip", "cannot be loaded from 'acme/clip'"),
    ],
)
def test_missing_model_is_refused(model: str, text: str) -> None:
    with pytest.raises(WrongWeights, match=text) as refused:
        ClipEncoder(model, CPU)
    assert "\n" not in str(refused.value)


def rewritten(weight: Any) -> Callable[[Path], object]:
    """Replace the projection by what `weight` makes of it; None removes it."""

    def spoil(folder: Path) -> None:
        weights = load_file(folder / WEIGHTS)
        changed = weight(weights.pop("visual.proj"))
        save_file(weights if changed is None else weights | {"visual.proj": changed}, folder / WEIGHTS)

    return spoil


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / CONFIG).unlink(),
        lambda folder: (folder / WEIGHTS).unlink(),
        lambda folder: (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:1000]),
        rewritten(lambda _: None),
        rewritten(lambda _: torch.zeros(7, 7)),
        rewritten(lambda weight: weight * torch.nan),
    ],
    ids=["no config", "no weights", "cut", "weight missing", "other shape", "not finite"],
)
def test_damaged_model_folder_is_refused(
    clip: TinyClip, tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    folder = shutil.copytree(clip.folder, tmp_path / "spoilt")
    spoil(folder)
    with pytest.raises(WrongWeights) as refused:
        ClipEncoder(str(folder), CPU)
    assert "\n" not in str(refused.value)
    assert "CLIP" in str(refused.value)


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


def reference_text_vectors(folder: Path, texts: tuple[str, ...]) -> npt.NDArray[np.float32]:
    """Each text by itself, without padding, through transformers' text tower; normalised."""
    model = CLIPModel.from_pretrained(folder).eval()
    rows = []
    with torch.inference_mode():
        for text in texts:
            pooled = model.text_model(input_ids=torch.tensor([token_ids(text)])).pooler_output
            rows.append(torch.nn.functional.normalize(pooled @ model.text_projection.weight.T, dim=-1)[0])
    vectors: npt.NDArray[np.float32] = torch.stack(rows).numpy()
    return vectors


def test_text_vectors_equal_transformers_clip_in_any_batch(either_clip: TinyClip, parity: Parity) -> None:
    encoder = ClipEncoder(str(either_clip.folder), CPU, texts=True)
    texts = (*TEXTS, "a red door " * 400)
    ours = np.stack(encoder.forward_texts(texts))
    alone = np.stack([encoder.forward_texts([text])[0] for text in texts])
    expected = reference_text_vectors(either_clip.reference, texts)
    difference = np.abs(ours - expected).max()
    parity("image_search: open_clip, texts", f"transformers CLIPModel, {either_clip.activation}", difference)
    assert ours.shape == (len(texts), SHARED)
    assert np.abs(ours - alone).max() < 1e-5
    assert (expected @ expected.T).min() < 0.9, "the texts must differ for the comparison to mean anything"


async def test_text_search_returns_the_models_nearest_pictures(clip: TinyClip, tmp_path: Path) -> None:
    things = {name: picture(name, 240) for name in KINDS}
    uris = [data_uri(jpeg(photo)) for photo in things.values()]
    settings = ImageSearchSettings(
        port=0, data_dir=tmp_path, engine="clip", model=str(clip.folder), device="cpu"
    )
    async with live(create_app(settings)) as client:
        assert (await fill(client, things)).json() == {"indexed": len(things), "rejected": {}}
        embedded = (await client.post("/v1/embeddings", json={"input": uris})).json()["data"]
        replies = [
            await client.post("/v1/image-search/text", json={"texts": [text], "k": 3}) for text in TEXTS
        ]
        info = (await client.get("/info")).json()
        metrics = (await client.get("/metrics")).text
    pictures = np.array([row["embedding"] for row in embedded], np.float32)
    names = list(things)
    for reply, row in zip(replies, reference_text_vectors(clip.reference, TEXTS) @ pictures.T, strict=True):
        hits = ImageSearchReply.model_validate_json(reply.content).hits
        assert [hit.entity for hit in hits] == [names[place] for place in np.argsort(-row)[:3]]
        expected = 1 / (1 + np.exp(-30 * (np.sort(row)[::-1][:3] - 0.25)))
        assert [hit.score for hit in hits] == pytest.approx(expected, abs=1e-4)
    assert info["takes"] == ["image", "text"]
    assert 'loreglass_batch_items_count{forward="clip_text",service="image_search"}' in metrics
