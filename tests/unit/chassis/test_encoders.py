"""The small encoders that come with the platform, with their real weights."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from time import sleep

import numpy as np
import pytest

from chassis.models.cancellation import Abandoned
from chassis.models.encoders import (
    CROSS_ENCODER,
    SENTENCE_ENCODER,
    CrossEncoder,
    SentenceEncoder,
    load_once,
    shared_cross_encoder,
    shared_sentence_encoder,
)

TOWER = "The tower was built by Ada Lovelace in 1907. It is 71 m tall and stands beside the old harbour."
CATS = "Cats sleep for most of the day. Many people in the village keep two of them."
HARBOUR = "The harbour was dredged twice, in 1912 and in 1934, because the river brings sand."


@pytest.fixture(scope="module")
def encoder() -> SentenceEncoder:
    return shared_sentence_encoder()


@pytest.fixture(scope="module")
def model() -> CrossEncoder:
    return shared_cross_encoder()


def test_packaged_weights_match_the_model_cards(encoder: SentenceEncoder, model: CrossEncoder) -> None:
    for folder, card in ((SENTENCE_ENCODER, encoder.card), (CROSS_ENCODER, model.card)):
        for name, digest in card["sha256"].items():
            assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest


def test_vectors_of_equivalent_texts_are_close(encoder: SentenceEncoder) -> None:
    query, same, other = encoder.queries(
        ["How heavy is the kettle?", "Its weight is 1.2 kg when empty.", "Cats sleep for most of the day."]
    )
    assert np.linalg.norm(query) == pytest.approx(1, abs=1e-5)
    assert query @ same > 2 * abs(query @ other)


def test_vector_does_not_depend_on_the_batch(encoder: SentenceEncoder) -> None:
    (alone,) = encoder.queries(["The tower is 71 m tall."])
    beside = encoder.queries(["a", "The tower is 71 m tall.", "Cats sleep. " * 200, ""])
    assert beside[1] == pytest.approx(alone, abs=1e-4)
    assert len(beside) == 4
    assert encoder.queries([]) == []


def test_special_tokens_in_a_page_are_text(encoder: SentenceEncoder, model: CrossEncoder) -> None:
    marked, plain = encoder.queries(["[SEP] [CLS]", ""])
    assert marked @ plain < 0.99
    (window,) = model.windows("Who?", ["A [SEP] B [CLS] C"])
    marks = [token for token, place in zip(window.ids, window.offsets, strict=True) if place[0] < 0]
    assert len(marks) == len(model.windows("Who?", ["A B C"])[0].ids) - 3
    assert not set(window.ids[6:-1]) & {window.ids[0], window.ids[-1]}


def test_reader_scores_do_not_depend_on_the_batch(model: CrossEncoder) -> None:
    alone = model.read(model.windows("How tall is the tower?", [TOWER]))[0]
    beside = model.read(model.windows("How tall is the tower?", [CATS * 9, TOWER]))[-1]
    several = model.read(model.windows("How tall is the tower?", [TOWER, HARBOUR]))[0]
    assert alone.answers == pytest.approx(several.answers, abs=1e-3)
    assert alone.spans == pytest.approx(several.spans, abs=1e-2)
    assert beside.spans.shape[0] == 2


@pytest.mark.usefixtures("caller_left")
def test_encoding_and_reading_stop_when_cancelled(encoder: SentenceEncoder, model: CrossEncoder) -> None:
    with pytest.raises(Abandoned):
        encoder.queries(["The tower is 71 m tall."])
    with pytest.raises(Abandoned):
        model.read(model.windows("Which page was not read before?", [TOWER]))


def test_concurrent_threads_share_one_model() -> None:
    threads = 8
    all_here = Barrier(threads)

    @load_once
    def load() -> object:
        sleep(0.05)  # the others come meanwhile
        return object()

    def come(_: int) -> object:
        all_here.wait()
        return load()

    with ThreadPoolExecutor(threads) as pool:
        models = list(pool.map(come, range(threads)))
    assert len(set(map(id, models))) == 1
