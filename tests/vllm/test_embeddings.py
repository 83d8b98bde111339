"""The dense half of text_search with engine=remote, against a real vLLM that serves a tiny BERT."""

from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest
import torch
from transformers import BertModel, BertTokenizer

from chassis.http.remote import RemoteServer
from services.text_search.engines.remote import RemoteEncoder, RemoteOptions
from tests.models.tiny_bge import SIZE
from tests.vllm.environment import VllmEnvironment
from tests.vllm.serving import Serving, serving

TEXTS = ["who opened the cafe?", "it opens at nine", "gate 7", "a"]


@pytest.fixture(scope="module")
def vllm(environment: VllmEnvironment) -> Iterator[Serving]:
    """An embedder of random weights: first token, normalised."""
    with serving(environment, environment.models / "embedder", "--max-model-len", "64") as running:
        yield running


def test_vectors_equal_the_model(vllm: Serving, environment: VllmEnvironment) -> None:
    with closing(RemoteServer(vllm.url, model=vllm.model)) as server:
        encoder = RemoteEncoder(server, options=RemoteOptions(max_batch=3))
        vectors = np.array(encoder.passages(TEXTS))
    folder = environment.models / "embedder"
    tokenizer, model = BertTokenizer.from_pretrained(folder), BertModel.from_pretrained(folder).eval()
    with torch.inference_mode():
        first = [model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0, 0] for text in TEXTS]
        expected = torch.nn.functional.normalize(torch.stack(first), dim=-1).numpy()
    difference = float(np.abs(vectors - expected).max())
    print(f"\n  text_search remote against transformers' BertModel: {difference:.1e}")  # noqa: T201
    assert vectors.shape == (len(TEXTS), SIZE)
    assert difference < 1e-4
