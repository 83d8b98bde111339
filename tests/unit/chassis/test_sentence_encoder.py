"""The sentence encoder that comes with the platform, with its real weights."""

import hashlib

import numpy as np
import pytest

from chassis.models.cancellation import Abandoned
from chassis.models.encoders import SENTENCE_ENCODER, SentenceEncoder, shared_sentence_encoder


@pytest.fixture(scope="module")
def encoder() -> SentenceEncoder:
    return shared_sentence_encoder()


def test_the_weights_are_those_of_the_card(encoder: SentenceEncoder) -> None:
    for name, digest in encoder.card["sha256"].items():
        assert hashlib.sha256((SENTENCE_ENCODER / name).read_bytes()).hexdigest() == digest


def test_texts_that_mean_the_same_lie_close(encoder: SentenceEncoder) -> None:
    asked, same, other = encoder.queries(
        ["How heavy is the kettle?", "Its weight is 1.2 kg when empty.", "Cats sleep for most of the day."]
    )
    assert np.linalg.norm(asked) == pytest.approx(1, abs=1e-5)
    assert asked @ same > 2 * abs(asked @ other)


def test_a_vector_does_not_depend_on_what_else_is_encoded(encoder: SentenceEncoder) -> None:
    (alone,) = encoder.queries(["The tower is 71 m tall."])
    beside = encoder.queries(["a", "The tower is 71 m tall.", "Cats sleep. " * 200, ""])
    assert beside[1] == pytest.approx(alone, abs=1e-4)
    assert len(beside) == 4


def test_nothing_gives_nothing(encoder: SentenceEncoder) -> None:
    assert encoder.queries([]) == []


def test_marks_of_the_tokenizer_are_text(encoder: SentenceEncoder) -> None:
    marked, plain = encoder.queries(["[SEP] [CLS]", ""])
    assert marked @ plain < 0.99


@pytest.mark.usefixtures("caller_left")
def test_encoding_ends_when_the_caller_has_left(encoder: SentenceEncoder) -> None:
    with pytest.raises(Abandoned):
        encoder.queries(["The tower is 71 m tall."])
