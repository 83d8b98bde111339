"""The Q-Former against transformers' BLIP-2."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers import AutoTokenizer, Blip2ForImageTextRetrieval, BlipImageProcessorPil

from chassis.accelerator import Accelerator
from chassis.models.pretrained import WrongWeights
from chassis.models.qformer import QFormer
from tests.models.tiny_blip2 import LONGEST_TEXT, QUERY_TOKENS, tiny_blip2
from tests.models.tiny_qwen3 import tiny_qwen3

CPU = Accelerator("cpu", "float32")
QUESTIONS = ["who built it?", "is the red tower a book or a dog, and in which year was it built by Ada?"]
Photo = NDArray[np.uint8]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_blip2(tmp_path_factory.mktemp("blip2"))


@pytest.fixture(scope="module")
def qformer(folder: Path) -> QFormer:
    return QFormer.from_pretrained(str(folder), CPU)


@pytest.fixture(scope="module")
def blip2(folder: Path) -> Any:
    return Blip2ForImageTextRetrieval.from_pretrained(folder).eval()


@pytest.fixture(scope="module")
def photos() -> list[Photo]:
    random = np.random.default_rng(3)
    return [random.integers(0, 256, (*size, 3), np.uint8) for size in ((90, 70), (60, 200))]


def _inputs(folder: Path, question: str, photo: Photo) -> tuple[torch.Tensor, Any]:
    pixels = BlipImageProcessorPil.from_pretrained(folder)(photo, return_tensors="pt")["pixel_values"]
    return pixels, AutoTokenizer.from_pretrained(folder)(question, return_tensors="pt")


def _difference(actual: NDArray[np.float32], expected: torch.Tensor) -> float:
    assert actual.shape == tuple(expected.shape)
    return float(np.abs(actual - expected.numpy()).max())


def test_results_are_batch_independent(qformer: QFormer, photos: list[Photo]) -> None:
    pairs = [(QUESTIONS[0], photos[0]), (QUESTIONS[1], None), (QUESTIONS[1], photos[1]), ("dog", None)]
    for states, pair in zip(qformer.encode_questions(pairs), pairs, strict=True):
        np.testing.assert_allclose(states, qformer.encode_questions([pair])[0], atol=1e-5)
    for seen, photo in zip(qformer.photo_vectors(photos), photos, strict=True):
        np.testing.assert_allclose(seen, qformer.photo_vectors([photo])[0], atol=1e-5)
    for vector, text in zip(qformer.text_vectors(QUESTIONS), QUESTIONS, strict=True):
        np.testing.assert_allclose(vector, qformer.text_vectors([text])[0], atol=1e-5)


def test_a_question_without_a_photo_sees_a_plain_picture(
    qformer: QFormer, blip2: Any, folder: Path, photos: list[Photo]
) -> None:
    with torch.inference_mode():
        _, tokens = _inputs(folder, QUESTIONS[0], photos[0])
        states = blip2.qformer(
            query_embeds=blip2.embeddings(input_ids=tokens["input_ids"], query_embeds=blip2.query_tokens),
            query_length=QUERY_TOKENS,
            encoder_hidden_states=blip2.vision_model(torch.zeros(1, 3, 56, 56)).last_hidden_state,
        ).last_hidden_state
    assert _difference(qformer.encode_questions([(QUESTIONS[0], None)])[0], states[0, :QUERY_TOKENS]) < 1e-4


def test_long_text_is_cut(qformer: QFormer) -> None:
    long, longer = "dog " * LONGEST_TEXT, "dog " * LONGEST_TEXT + "tower " * 10_000
    first, second = qformer.text_vectors([long, longer])
    np.testing.assert_allclose(first, second, atol=1e-6)


def test_states_keep_gradients_for_training(qformer: QFormer, photos: list[Photo]) -> None:
    states = qformer.question_states(qformer.prepare([(QUESTIONS[0], photos[0]), (QUESTIONS[1], None)]))
    states.sum().backward()
    assert qformer.model.query_tokens.grad is not None
    qformer.model.zero_grad()


def test_a_folder_without_the_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongWeights, match="There is no folder"):
        QFormer.from_pretrained(str(tmp_path / "none"), CPU)
    with pytest.raises(WrongWeights, match="holds a None model"):
        QFormer.from_pretrained(str(tmp_path), CPU)


def test_another_architecture_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WrongWeights, match="holds a 'qwen3' model; 'blip-2' is needed"):
        QFormer.from_pretrained(str(tiny_qwen3(tmp_path)), CPU)


def test_weights_that_lack_a_layer_are_refused(folder: Path, tmp_path: Path, blip2: Any) -> None:
    weights = {name: value for name, value in blip2.state_dict().items() if "text_projection" not in name}
    blip2.save_pretrained(tmp_path, state_dict=weights)
    with pytest.raises(WrongWeights, match=r"2 weights are missing or of another shape, text_projection"):
        QFormer.from_pretrained(str(tmp_path), CPU)
