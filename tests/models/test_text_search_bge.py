"""The BGE encoder on tiny weights, against transformers' BertModel."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertModel, BertTokenizer

from chassis.accelerator import Accelerator
from chassis.http.app import EngineResources
from chassis.models.pretrained import WrongWeights
from chassis.telemetry.metrics import Metrics
from services.text_search.app import open_engine
from services.text_search.engine import BGE_QUERY_INSTRUCTION, Instructions, Pooling
from services.text_search.engines.bge import BgeEncoder, BgeModel
from services.text_search.settings import Engine, TextSearchSettings
from tests.models.conftest import Parity
from tests.models.tiny_bge import POSITIONS, tiny_bge
from tests.models.tiny_qwen3 import tiny_qwen3

CPU = Accelerator("cpu", "float32")
TEXTS = [
    "Is it a book?",
    "",
    "The red tower number 7 was built by Ada in 1907; is it a book, a cat or a dog? yes or no.",
    "tower " * 200,
    "cat",
    "A red cat and a red dog, built by Ada in 1999.",
]


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bge(tmp_path_factory.mktemp("bge") / "bge-tiny")


def reference(folder: Path, texts: list[str], pooling: Pooling) -> Any:
    """One text at a time, no padding, by the published class. [n, SIZE]"""
    tokenizer = BertTokenizer.from_pretrained(folder)
    model = BertModel.from_pretrained(folder).eval()
    rows = []
    with torch.no_grad():
        for text in texts:
            tokens = tokenizer(text, return_tensors="pt", truncation=True, max_length=POSITIONS)
            states = model(**tokens).last_hidden_state[0]
            row = states[0] if pooling is Pooling.CLS else states.mean(dim=0)
            rows.append(row / row.norm())
    return torch.stack(rows).numpy()


@pytest.mark.parametrize("pooling", list(Pooling))
def test_vectors_equal_a_plain_bert(weights: Path, pooling: Pooling, parity: Parity) -> None:
    encoder = BgeEncoder(BgeModel(str(weights), CPU, pooling), instructions=Instructions("", ""))
    vectors = np.array(encoder.passages(TEXTS))
    expected = reference(weights, TEXTS, pooling)
    assert np.abs(expected[0] - expected[4]).max() > 0.05
    parity(f"text_search bge, {pooling} pooling", "BertModel", np.abs(vectors - expected).max())
    queries = np.array(encoder.queries(TEXTS))
    np.testing.assert_array_equal(queries, vectors)


def test_query_instruction_precedes_questions_only(weights: Path) -> None:
    encoder = BgeEncoder(BgeModel(str(weights), CPU))
    prefixed = reference(weights, [BGE_QUERY_INSTRUCTION + TEXTS[0]], Pooling.CLS)
    plain = reference(weights, [TEXTS[0]], Pooling.CLS)
    assert np.abs(prefixed - plain).max() > 0.01
    np.testing.assert_allclose(encoder.queries([TEXTS[0]]), prefixed, atol=1e-4)
    np.testing.assert_allclose(encoder.passages([TEXTS[0]]), plain, atol=1e-4)


@pytest.mark.parametrize("pooling", list(Pooling))
def test_vector_is_batch_independent(weights: Path, pooling: Pooling) -> None:
    model = BgeModel(str(weights), CPU, pooling)
    items = model.tokenize(TEXTS)
    together = np.array(model.forward(items))
    alone = np.array([model.forward([item])[0] for item in items])
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_encoder_name_has_pooling_and_instruction(weights: Path) -> None:
    model = BgeModel(str(weights), CPU, Pooling.MEAN)
    assert BgeEncoder(model).name == "bge-tiny (mean pooling)"
    assert (
        BgeEncoder(model, instructions=Instructions("q: ", "p: ")).name
        == "bge-tiny (mean pooling), after 'p: '"
    )


def test_nan_is_an_error(weights: Path) -> None:
    model = BgeModel(str(weights), Accelerator("cpu", "float16"))
    with torch.no_grad():
        model._model.embeddings.word_embeddings.weight.mul_(1e9)
    with pytest.raises(FloatingPointError, match="float16"):
        BgeEncoder(model).passages(["tower"])


def test_a_model_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongWeights, match="no BERT-like text encoder"):
        BgeModel(str(tiny_qwen3(tmp_path)), CPU)


def test_a_folder_without_a_model_leaves_the_store_unlocked(weights: Path, tmp_path: Path) -> None:
    chosen = TextSearchSettings(data_dir=tmp_path, engine=Engine.BGE, model=str(weights), device="cpu")
    with pytest.raises(WrongWeights):
        open_engine(
            chosen.model_copy(update={"model": str(tmp_path / "nowhere")}),
            EngineResources(Metrics("text_search")),
        )
    resources = EngineResources(Metrics("text_search"))
    open_engine(chosen, resources)
    resources.close()
