"""The Q-Former against transformers' BLIP-2."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from transformers import Blip2ForImageTextRetrieval

from chassis.accelerator import Accelerator
from chassis.models.pretrained import WrongWeights
from chassis.models.qformer import QFormer
from tests.models.conftest import Parity
from tests.models.tiny_blip2 import LONGEST_TEXT, direct_states
from tests.models.tiny_qwen3 import tiny_qwen3

CPU = Accelerator("cpu", "float32")
QUESTIONS = ["who built it?", "is the red tower a book or a dog, and in which year was it built by Ada?"]
Photo = NDArray[np.uint8]


@pytest.fixture(scope="module")
def qformer(blip2: Path) -> QFormer:
    return QFormer.from_pretrained(str(blip2), CPU)


@pytest.fixture(scope="module")
def photos() -> list[Photo]:
    random = np.random.default_rng(3)
    return [random.integers(0, 256, (*size, 3), np.uint8) for size in ((90, 70), (60, 200))]


def test_results_are_batch_independent(qformer: QFormer, photos: list[Photo]) -> None:
    pairs = [(QUESTIONS[0], photos[0]), (QUESTIONS[1], None), (QUESTIONS[1], photos[1]), ("dog", None)]
    for states, pair in zip(qformer.encode_questions(pairs), pairs, strict=True):
        np.testing.assert_allclose(states, qformer.encode_questions([pair])[0], atol=1e-5)
    for seen, photo in zip(qformer.photo_vectors(photos), photos, strict=True):
        np.testing.assert_allclose(seen, qformer.photo_vectors([photo])[0], atol=1e-5)
    for vector, text in zip(qformer.text_vectors(QUESTIONS), QUESTIONS, strict=True):
        np.testing.assert_allclose(vector, qformer.text_vectors([text])[0], atol=1e-5)


def test_states_equal_blip2_with_and_without_a_photo(
    qformer: QFormer, blip2: Path, photos: list[Photo], parity: Parity
) -> None:
    pairs = [(QUESTIONS[0], None), *zip(QUESTIONS, photos, strict=True)]
    for states, (question, photo) in zip(qformer.encode_questions(pairs), pairs, strict=True):
        expected = direct_states(blip2, question, photo).numpy()
        parity("Q-Former", "Blip2ForImageTextRetrieval", np.abs(states - expected).max())


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
    (tmp_path / "empty").mkdir()
    for folder, reason in (
        (tmp_path / "none", "There is no folder"),
        (tmp_path / "empty", "holds a None model"),
        (tiny_qwen3(tmp_path), "holds a 'qwen3' model; 'blip-2' is needed"),
    ):
        with pytest.raises(WrongWeights, match=reason):
            QFormer.from_pretrained(str(folder), CPU)


def test_weights_that_lack_a_layer_are_refused(blip2: Path, tmp_path: Path) -> None:
    model = Blip2ForImageTextRetrieval.from_pretrained(blip2)
    weights = {name: value for name, value in model.state_dict().items() if "text_projection" not in name}
    model.save_pretrained(tmp_path, state_dict=weights)
    with pytest.raises(WrongWeights, match=r"2 weights are missing or of another shape, text_projection"):
        QFormer.from_pretrained(str(tmp_path), CPU)
