"""The image encoder of engine=remote, against a real vLLM that serves a tiny CLIP, in both of its shapes."""

import io
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import CLIPModel, CLIPProcessor

from chassis.http.remote import RemoteServer
from chassis.pixels import encode_jpeg
from services.image_search.engines.remote import RemoteImageEncoder, RemoteOptions, RemoteShape
from tests.vllm.environment import VllmEnvironment
from tests.vllm.serving import Serving, serving


@pytest.fixture(scope="module")
def vllm(environment: VllmEnvironment) -> Iterator[Serving]:
    """CLIP of random weights."""
    with serving(environment, environment.models / "clip") as running:
        yield running


@pytest.mark.parametrize("shape", [RemoteShape.VLLM, RemoteShape.COHERE])
def test_photo_vectors_equal_the_model(
    vllm: Serving, environment: VllmEnvironment, shape: RemoteShape
) -> None:
    generator = np.random.default_rng(0)
    coarse = generator.integers(0, 256, (3, 8, 8, 3), dtype=np.uint8)
    views = [np.kron(view, np.ones((7, 7, 1), np.uint8)) for view in coarse]
    with closing(RemoteServer(vllm.url, model=vllm.model)) as server:
        encoder = RemoteImageEncoder(server, RemoteOptions(shape=shape))
        vectors = np.array(encoder.forward(views))
    sent = [Image.open(io.BytesIO(encode_jpeg(view))).convert("RGB") for view in views]
    folder = environment.models / "clip"
    model, processor = CLIPModel.from_pretrained(folder).eval(), CLIPProcessor.from_pretrained(folder)
    with torch.inference_mode():
        pooled = model.get_image_features(**processor(images=sent, return_tensors="pt")).pooler_output
        expected = torch.nn.functional.normalize(pooled, dim=-1).numpy()
    difference = float(np.abs(vectors - expected).max())
    print(f"\n  image_search remote ({shape}) against transformers' CLIPModel: {difference:.1e}")  # noqa: T201
    assert vectors.shape == (len(views), 64)
    assert difference < 1e-4


@pytest.mark.parametrize("shape", [RemoteShape.VLLM, RemoteShape.COHERE])
def test_text_vectors_equal_the_model(
    vllm: Serving, environment: VllmEnvironment, shape: RemoteShape
) -> None:
    texts = ["a bronze statue", "two pandas in a tree", "x " * 2_000]
    with closing(RemoteServer(vllm.url, model=vllm.model)) as server:
        vectors = np.array(RemoteImageEncoder(server, RemoteOptions(shape=shape)).forward_texts(texts))
    folder = environment.models / "clip"
    model, processor = CLIPModel.from_pretrained(folder).eval(), CLIPProcessor.from_pretrained(folder)
    most = model.config.text_config.max_position_embeddings
    assert vectors.shape == (len(texts), 64)
    with torch.inference_mode():
        for text, vector in zip(texts[:2], vectors, strict=False):
            tokens = processor(text=[text], return_tensors="pt", truncation=True, max_length=most)
            pooled = model.get_text_features(**tokens).pooler_output
            expected = torch.nn.functional.normalize(pooled, dim=-1)[0].numpy()
            assert float(np.abs(vector - expected).max()) < 1e-4
