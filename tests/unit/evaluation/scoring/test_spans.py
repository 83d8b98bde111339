"""Scores of stretches of text, computed a second time from the published rules."""

import math
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.data.model import AnswerType, Truth
from evaluation.judging.rule_judge import judge_by_rules
from evaluation.judging.text import exact_match, is_refusal, normalise, says, word_f1
from evaluation.scoring.protocols import Scored, case_of
from evaluation.scoring.spans import marked_questions, span_scores
from loreglass_client.models import Citation, CitationKind
from tests.unit.evaluation.records import answered, turn_of

Prediction = dict[str, Any]
PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"


def words_of(text: str) -> list[str]:
    """Lower case, without punctuation, cut at white space, without articles that stand alone."""
    plain = "".join(letter for letter in text.lower() if letter not in PUNCTUATION)
    return [word for word in without_articles(plain).split()]


def without_articles(text: str) -> str:
    """An article ends where a letter, digit or mark of the word class does not go on."""
    plain, place = "", 0
    while place < len(text):
        end = place
        while end < len(text) and is_of_a_word(text[end]):
            end += 1
        if end == place:
            plain += text[place]
            place += 1
            continue
        word = text[place:end]
        plain += " " if word in ("a", "an", "the") else word
        place = end
    return plain


def is_of_a_word(letter: str) -> bool:
    """What Unicode calls a letter or a number, or an underscore."""
    return letter.isalnum() or letter == "_"


def exact(texts: str, golds: list[str]) -> int:
    wanted = [words_of(gold) for gold in golds if words_of(gold)] or [[]]
    return 1 if words_of(texts) in wanted else 0


def f1(texts: str, golds: list[str]) -> float:
    best = 0.0
    for wanted in [words_of(gold) for gold in golds if words_of(gold)] or [[]]:
        result = words_of(texts)
        if not result or not wanted:
            best = max(best, 1.0 if result == wanted else 0.0)
            continue
        left, same = list(wanted), 0
        for word in result:
            if word in left:
                left.remove(word)
                same += 1
        if same:
            precision, recall = same / len(result), same / len(wanted)
            best = max(best, 2 * precision * recall / (precision + recall))
    return best


def holds(texts: str, golds: list[str]) -> bool:
    """Whether a gold's words stand in the answer, one after the other."""
    result = words_of(texts)
    for wanted in (words_of(gold) for gold in golds):
        for start in range(len(result) - len(wanted) + 1 if wanted else 0):
            if result[start : start + len(wanted)] == wanted:
                return True
    return False


def recompute(predictions: list[Prediction]) -> dict[str, float]:
    """The figures of one set; those over nothing are left out."""
    sums: dict[str, list[float]] = {}
    for each in predictions:
        failed, text, golds = each["said"] is None, each["said"] or "", each["golds"]
        matched = 0.0 if failed else float(exact(text, golds))
        overlap = 0.0 if failed else f1(text, golds)
        sums.setdefault("exact", []).append(matched)
        sums.setdefault("f1", []).append(overlap)
        if golds:
            sums.setdefault("has_exact", []).append(matched)
            sums.setdefault("has_f1", []).append(overlap)
            sums.setdefault("right", []).append(float(bool(text) and holds(text, golds)))
            sums.setdefault("wrong", []).append(float(bool(text) and not holds(text, golds)))
            sums.setdefault("not_known", []).append(float(not text))
        else:
            sums.setdefault("no_answer", []).append(matched)
            sums.setdefault("answered", []).append(float(bool(text)))
    figures = {name: sum(values) / len(values) for name, values in sums.items()}
    lengths = sorted(len(each["said"].split()) for each in predictions if each["said"])
    if lengths:
        figures["words_median"] = lengths[(len(lengths) + 1) // 2 - 1]
        figures["words_p90"] = lengths[-(-9 * len(lengths) // 10) - 1]
    return figures


WORDS = (
    "the", "a", "An", "bell", "Bell,", "of", "Orrin", "12", "1,200", "May", "U.S.", "don't", "…", "é",
    "theme",
)  # fmt: skip
TEXT = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join) | st.text(max_size=30)
GOLD = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join).filter(normalise)
PREDICTIONS = st.lists(
    st.fixed_dictionaries({"said": st.none() | TEXT, "golds": st.lists(GOLD, max_size=3)}),
    min_size=1,
    max_size=8,
)


def scored(prediction: Prediction, number: int = 0, client_ms: float = 10.0) -> Scored:
    """The prediction as a run keeps it, judged by the rules."""
    text, golds = prediction["said"], prediction["golds"]
    name = f"q{number}"
    kind = AnswerType.SPAN if golds else AnswerType.UNANSWERABLE
    record = turn_of(
        name,
        None if text is None else answered(text or None),
        gold=golds[0] if golds else "I don't know.",
        truth=Truth(interaction_id=name, answer_type=kind, accepted=tuple(golds)),
        client_ms=client_ms,
    )
    return Scored(record, judge_by_rules(case_of(record)))


def figures(predictions: list[Prediction]) -> dict[str, float]:
    """Ours, without those that there are none of."""
    scores = span_scores([scored(each, number) for number, each in enumerate(predictions)])
    values = {**asdict(scores), **asdict(scores.outcomes)}
    names = (
        "exact", "f1", "has_exact", "has_f1", "no_answer", "words_median", "words_p90",
        "right", "wrong", "not_known", "answered",
    )  # fmt: skip
    return {name: values[name] for name in names if not math.isnan(values[name])}


def speakable(prediction: Prediction) -> bool:
    """Whether the judge and the recomputation mean the same by an answer and by a gold.

    Left out: what the judge reads as a refusal or as empty, and what only its second spelling finds.
    """
    text, golds = prediction["said"] or "", prediction["golds"]
    return is_refusal(text) == (not text) and says(text, golds) == holds(text, golds)


@pytest.mark.parametrize(
    ("answer", "gold"), [("red/green", "green"), ("1894–1896", "1896"), ("Marr's", "Marr"), ("U.S.", "US")]
)
def test_punctuation_does_not_change_matches(answer: str, gold: str) -> None:
    assert says(f"It is {answer}.", [gold])


@pytest.mark.parametrize("gold", ["the", "...", "a an"])
def test_gold_answer_without_words_never_matches(gold: str) -> None:
    assert not says("the answer, an odd one ...", [gold])


def test_gold_in_closest_passage_scores_nothing() -> None:
    def refused(snippet: str) -> Scored:
        one = scored({"said": "", "golds": ["May 1881"]})
        assert one.record.answer is not None
        closest = Citation(title="", url="", snippet=snippet, score=0.5, kind=CitationKind.PAGE)
        answer = one.record.answer.model_copy(update={"closest": closest})
        record = one.record.model_copy(update={"answer": answer})
        return Scored(record, judge_by_rules(case_of(record)))

    right = scored({"said": "It opened in May 1881.", "golds": ["May 1881"]})
    without = scored({"said": "", "golds": ["May 1881"]})
    scores = span_scores([right, without, refused("It opened on 12 May 1881."), refused("In May 18811.")])
    assert scores.held == 0.5
    assert (scores.outcomes.right, scores.outcomes.not_known) == (0.25, 0.75)


@settings(max_examples=80)
@given(PREDICTIONS)
def test_span_scores_equal_an_independent_recomputation(predictions: list[Prediction]) -> None:
    speakable_ones = [each for each in predictions if speakable(each)]
    if speakable_ones:
        assert figures(speakable_ones) == pytest.approx(recompute(speakable_ones), abs=1e-12)


@settings(max_examples=80)
@given(TEXT, st.lists(TEXT, max_size=3))
def test_exact_match_and_f1_follow_the_published_rules(said: str, golds: list[str]) -> None:
    assert exact_match(said, golds) == exact(said, golds)
    assert word_f1(said, golds) == pytest.approx(f1(said, golds), abs=1e-12)


def test_other_questions_have_no_span_score() -> None:
    unanswerable, span = scored({"said": "Edda Marr", "golds": []}), scored({"said": "", "golds": ["Marr"]})
    truth = Truth(interaction_id="q", answer_type=AnswerType.NAME)
    name = replace(span, record=span.record.model_copy(update={"truth": truth}))
    assert marked_questions([unanswerable, name]) == []
    assert len(marked_questions([unanswerable, span])) == 2
