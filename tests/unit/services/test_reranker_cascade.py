"""The cascade's arithmetic and selection with scripted models."""

from collections.abc import Sequence

import numpy as np
import pytest

from services.reranker.engine import SAMPLE, Photo
from services.reranker.engines.cascade import CascadeReranker, CoarseStage, Cutoffs, Pair, Vectors

PHOTO = np.zeros((4, 4, 3), np.uint8)
COSINES = {"a": 0.9, "b": 0.6, "c": 0.3, "d": 0.05, "e": -0.8, SAMPLE[1][0]: -1.0}
JUDGED = {"a": 0.2, "b": 0.9, "c": 1.0, "d": 1.0, "e": 1.0, SAMPLE[1][0]: 0.5}
"""Both by a document's first letter."""


class Towers:
    """Vectors with chosen cosines: the question is (1, 0), so a text's first coordinate is its cosine."""

    def __init__(self) -> None:
        self.photos: list[Photo | None] = []
        self.read: list[str] = []

    def question_vectors(self, queries: Sequence[tuple[str, Photo | None]]) -> list[Vectors]:
        self.photos += [photo for _, photo in queries]
        return [np.array([[1.0, 0.0]], np.float32) for _ in queries]

    def text_vectors(self, texts: Sequence[str]) -> list[Vectors]:
        self.read += texts
        return [np.array([COSINES[t[0]], (1 - COSINES[t[0]] ** 2) ** 0.5], np.float32) for t in texts]


class Judge:
    """Chosen probabilities; remembers what it was asked."""

    def __init__(self) -> None:
        self.pairs: list[Pair] = []

    def __call__(self, pairs: Sequence[Pair]) -> list[float]:
        self.pairs += pairs
        return [JUDGED[text[0]] for _, text in pairs]


def _reranker(
    towers: Towers | None = None, judge: Judge | None = None, **cutoffs: float | None
) -> CascadeReranker:
    coarse = CoarseStage(towers.question_vectors, towers.text_vectors) if towers else None
    given = {"coarse_top": 9, "coarse_threshold": 0.0, "fine_top": 9, "fine_threshold": 0.0} | cutoffs
    return CascadeReranker(coarse, judge, Cutoffs(**given))  # type: ignore[arg-type]


def _expect(actual: Sequence[float], expected: Sequence[float]) -> None:
    assert actual == pytest.approx(expected, abs=1e-6)


def test_the_score_is_the_product_of_both_stages() -> None:
    result = _reranker(Towers(), Judge()).rerank("who?", list("abcd"), None, PHOTO)
    _expect(result, [0.9 * 0.2, 0.6 * 0.9, 0.3, 0.05])


def test_the_best_query_token_counts() -> None:
    towers = Towers()
    stage = CoarseStage(
        lambda asked: [np.array([[0.1, 0.0], [1.0, 0.0], [-1.0, 0.0]], np.float32) for _ in asked],
        towers.text_vectors,
    )
    _expect(stage.score("who?", PHOTO, ["a", "e"]), [0.9, 0.8])


def test_negative_cosine_is_discarded_by_a_threshold() -> None:
    judge = Judge()
    assert _reranker(Towers(), judge).rerank("who?", ["e"], None, PHOTO) == [0.0]
    assert judge.pairs == []


def test_coarse_stage_without_threshold_selects_k1() -> None:
    judge = Judge()
    result = _reranker(Towers(), judge, coarse_top=2, coarse_threshold=None, fine_threshold=0.5)
    _expect(result.rerank("who?", list("edc"), None, PHOTO), [0.0, 1.0, 1.0])
    _expect(result.rerank("who?", ["e"], None, PHOTO), [1.0])
    alone = _reranker(Towers(), None, coarse_threshold=None)
    _expect(alone.rerank("who?", list("eac"), None, PHOTO), [0.1, 0.95, 0.65])


def test_order_replaces_coarse_stage_without_photo() -> None:
    towers, judge = Towers(), Judge()
    engine = _reranker(towers, judge, coarse_top=2, coarse_threshold=0.5)
    _expect(engine.rerank("who?", list("dba"), None), [1.0, 0.9, 0.0])
    _expect(engine.rerank("who?", list("dba"), None, fine_top=1), [1.0, 0.0, 0.0])
    _expect(engine.rerank("who?", list("dba"), None, fine_top=0), [1 / 2, 1 / 3, 0.0])
    assert towers.photos == []


def test_best_k1_are_judged() -> None:
    judge = Judge()
    _expect(
        _reranker(Towers(), judge, coarse_top=2).rerank("who?", list("cba"), None, PHOTO), [0, 0.54, 0.18]
    )
    assert {text for _, text in judge.pairs} == {"a", "b"}
    judge = Judge()
    _reranker(Towers(), judge, coarse_threshold=0.3).rerank("who?", list("abcd"), None, PHOTO)
    assert {text for _, text in judge.pairs} == {"a", "b", "c"}


def test_best_k2_products_are_kept_with_ties_in_order() -> None:
    one = _reranker(Towers(), Judge(), fine_top=1)
    _expect(one.rerank("who?", list("abcd"), None, PHOTO), [0, 0.54, 0, 0])
    strict = _reranker(Towers(), Judge(), coarse_threshold=0.5, fine_threshold=0.4)
    _expect(strict.rerank("who?", list("abcd"), None, PHOTO), [0, 0.54, 0, 0])  # a: .18 is below .5 * .4
    two = _reranker(None, Judge(), fine_top=2)
    assert two.rerank("who?", ["c 1", "c 2", "c 3"], None, PHOTO) == [1.0, 1.0, 0.0]
    assert two.rerank("who?", [], None, PHOTO) == []


def test_a_stage_that_is_off_has_factor_1_and_discards_nothing() -> None:
    coarse = _reranker(Towers(), None, fine_threshold=0.99)
    _expect(coarse.rerank("who?", list("abc"), None, PHOTO), [0.9, 0.6, 0.3])
    alone = _reranker(None, Judge(), coarse_top=1, coarse_threshold=0.9, fine_threshold=0.5)
    _expect(alone.rerank("who?", list("abc"), None, PHOTO), [0, 0.9, 1.0])
    _expect(_reranker(None, Judge()).rerank("who?", list("ab"), None, PHOTO, fine_top=0), [0.2, 0.9])


def test_the_entity_is_put_into_a_query_that_does_not_name_it() -> None:
    judge = Judge()
    engine = _reranker(None, judge)
    engine.rerank("who wrote it?", ["a"], "The Salt Road")
    engine.rerank("who wrote the salt road?", ["a"], "The Salt Road")
    engine.rerank("who wrote it?", ["a"], "")
    queries = [query for query, _ in judge.pairs]
    assert queries == ["who wrote it? (about The Salt Road)", "who wrote the salt road?", "who wrote it?"]


def test_documents_are_sorted_by_length_for_batching() -> None:
    towers, judge = Towers(), Judge()
    _expect(_reranker(towers, judge).rerank("who?", ["a", "bbbb", "cc"], None, PHOTO), [0.18, 0.54, 0.3])
    assert towers.read == [text for _, text in judge.pairs] == ["bbbb", "cc", "a"]


def test_probe_reaches_the_second_stage() -> None:
    towers, judge = Towers(), Judge()
    _reranker(towers, judge, coarse_threshold=0.9).probe()
    assert len(towers.photos) == 1
    assert len(judge.pairs) == 1
