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
def test_vectors_of_photos_and_texts_equal_the_model(
    vllm: Serving, environment: VllmEnvironment, shape: RemoteShape
) -> None:
    coarse = np.random.default_rng(0).integers(0, 256, (3, 8, 8, 3), dtype=np.uint8)
    views = [np.kron(view, np.ones((7, 7, 1), np.uint8)) for view in coarse]
    texts = ["a bronze statue", "two pandas in a tree", "x " * 2_000]
    with closing(RemoteServer(vllm.url, model=vllm.model)) as server:
        encoder = RemoteImageEncoder(server, RemoteOptions(shape=shape))
        vectors = np.array([*encoder.forward(views), *encoder.forward_texts(texts)])
    assert vectors.shape == (len(views) + len(texts), 64)
    folder = environment.models / "clip"
    model, processor = CLIPModel.from_pretrained(folder).eval(), CLIPProcessor.from_pretrained(folder)
    sent = [Image.open(io.BytesIO(encode_jpeg(view))).convert("RGB") for view in views]
    with torch.inference_mode():
        pooled = [model.get_image_features(**processor(images=sent, return_tensors="pt")).pooler_output]
        for text in texts[:2]:
            tokens = processor(text=[text], return_tensors="pt")
            pooled.append(model.get_text_features(**tokens).pooler_output)
    expected = torch.nn.functional.normalize(torch.cat(pooled), dim=-1).numpy()
    difference = float(np.abs(vectors[:-1] - expected).max())
    print(f"\n  image_search remote ({shape}) against transformers' CLIPModel: {difference:.1e}")  # noqa: T201
    assert difference < 1e-4
