"""The pocket reranker's judgement."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.reranker.engines.pocket import PocketReranker, load_curve
from services.reranker.engines.question import QuestionReader
from services.reranker.lexicon import RELATIONS

ENGINE = PocketReranker()


def best(question: str, passages: list[str], entity: str | None = None) -> int:
    scores = ENGINE.rerank(question, passages, entity)
    return scores.index(max(scores))


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("who penned this one?", "Nils Tarr wrote Cold Bridge in a lighthouse."),
        ("how long is the book", "The page count of Cold Bridge is 204."),
        ("what year did it come out", "Cold Bridge was first published in 1966."),
        ("which museum can I see it in", "Cold Bridge is on display at the Halle Gallery."),
        ("how much does this cost", "Cold Bridge is sold for 12.50 euros."),
        ("how heavy is it", "Cold Bridge weighs 300 grams."),
    ],
)
def test_the_sentence_that_states_the_asked_relation_comes_first(question: str, answer: str) -> None:
    others = ["Cold Bridge has a blue cover.", "Critics liked Cold Bridge very much."]
    assert best(question, [*others, answer], "Cold Bridge") == 2


def test_the_same_fact_about_a_sibling_is_improbable() -> None:
    passages = ["The price of Vexo 300 is 89 euros.", "The price of Vexo 500 is 129 euros."]
    mine, siblings = ENGINE.rerank("How much is it?", passages, "Vexo 300")
    assert mine > 0.5 > siblings


def test_a_longer_name_is_another_thing() -> None:
    passages = ["The Vexo 300 costs 89 euros.", "The Vexo 300 Pro costs 149 euros."]
    mine, longer = ENGINE.rerank("How much is it?", passages, "Vexo 300")
    assert mine > 0.5 > longer


def test_a_misread_letter_in_the_name_is_forgiven() -> None:
    score, *_ = ENGINE.rerank("who wrote it", ["The author of Winter Orchard is Ida Lund."], "Winter 0rchard")
    assert score < 0.9
    score, *_ = ENGINE.rerank("who wrote it", ["The author of Winter Orchard is Ida Lund."], "Winter Orchand")
    assert score > 0.5


def test_a_comparison_wants_passages_about_both_things() -> None:
    passages = ["The Orla K7 costs 899 euros.", "The Orla K9 costs 1,299 euros.", "The Pentra M2 is small."]
    first, second, other = ENGINE.rerank("Is it cheaper than the Orla K9?", passages, "Orla K7")
    assert min(first, second) > 0.5 > other


def test_a_pronoun_goes_on_about_the_thing_named_before() -> None:
    passages = [
        "Ida Lund grew up poor. She was born in Malmo in 1921.",
        "Ida Lund met Per Holm in 1950. Per Holm was born in Oslo.",
    ]
    assert best("where was she born?", passages, "Ida Lund") == 0


def test_no_passages_give_no_scores_and_an_empty_passage_is_improbable() -> None:
    assert ENGINE.rerank("who wrote it", [], None) == []
    assert ENGINE.rerank("who wrote it", [""], "Ida Lund")[0] < 0.1


def test_a_passage_scores_the_same_whatever_is_beside_it() -> None:
    passage = "The author of Winter Orchard is Ida Lund."
    alone = ENGINE.rerank("who wrote it", [passage], "Winter Orchard")[0]
    assert ENGINE.rerank("who wrote it", ["x", passage, "y"], "Winter Orchard")[1] == alone


@given(st.text(max_size=80), st.lists(st.text(max_size=120), max_size=3), st.none() | st.text(max_size=30))
@settings(max_examples=60, deadline=None)
def test_any_text_gets_a_probability(query: str, documents: list[str], entity: str | None) -> None:
    scores = ENGINE.rerank(query, documents, entity)
    assert len(scores) == len(documents)
    assert all(0.0 <= score <= 1.0 for score in scores)


def test_weights_fitted_on_other_features_are_refused(tmp_path: Path) -> None:
    stale = tmp_path / "weights.json"
    stale.write_text(json.dumps({"intercept": 0.0, "coefficients": {"coverage": 1.0}}))
    with pytest.raises(ValueError, match="other features"):
        load_curve(stale)


def test_every_phrasing_in_the_lexicon_finds_its_relation() -> None:
    reader = QuestionReader()
    assert len(RELATIONS) >= 80
    for relation in RELATIONS:
        for phrasing in relation.asks:
            assert reader.read(phrasing.replace(" * ", " it "), None).cues, phrasing
