"""Scores of answers by their verdicts, and the overlap of words."""

import math
from pathlib import Path

import pytest

from evaluation.judging.text import Cut, overlap
from evaluation.judging.verdicts import HUMAN, Judgement, Verdict
from evaluation.scoring.measures import scores_of
from evaluation.scoring.protocols import NotJudged, Protocol, Scored, score_records
from tests.unit.evaluation.scoring.predictions import JUDGED, conversation, keep_verdict, turn_record

KDD, BASELINE = Protocol.KDD_CUP_2025, Protocol.CRAG_MM_2026
C, A, M, X = Verdict.CORRECT, Verdict.ACCEPTABLE, Verdict.MISSING, Verdict.INCORRECT


def test_verdict_is_used_with_its_own_cut() -> None:
    record = turn_record("It is red. I don't know more.")
    assert Scored(record, JUDGED["right"]).verdict(KDD) is M
    assert Scored(record, JUDGED["right"], cut_answer="It is red.").verdict(KDD) is C


def test_human_labels_override_rules() -> None:
    assert Scored(turn_record("I don't know"), JUDGED["right"], by_hand=True).verdict(KDD) is C
    assert Scored(turn_record("no idea"), JUDGED["missing"], by_hand=True).verdict(KDD) is M


def test_acceptable_answer_scores_half_a_point() -> None:
    scores = scores_of(conversation(X, A, X, A), KDD)
    rates = scores["acceptable"], scores["hallucination"], scores["truthfulness"], scores["early_stopped"]
    assert rates == (0.5, 0.5, -0.25, 0)


def test_no_answers_have_no_score() -> None:
    assert all(math.isnan(value) for value in scores_of([], KDD).values())


def test_parts_with_a_shared_session_id_are_separate() -> None:
    single = Scored(turn_record("so"), Judgement(X, ""), by_hand=True)
    assert scores_of([single, *conversation(X, C)], KDD)["accuracy"] == pytest.approx(1 / 3)
    assert math.isnan(scores_of([single], KDD)["early_stopped"])


@pytest.mark.parametrize(
    ("answer", "gold", "share"),
    [
        ("It has 312 pages.", "it has 312 pages", 1),
        ("312", "It has 312 pages.", 0.25),
        ("", "It has 312 pages.", 0),
        ("pages pages pages", "pages of pages", 2 / 3),
        ("the an a", "The", 1),
        ("Café Müller's", "cafe mullers", 1),
        ("blue", "red", 0),
    ],
)
def test_overlap_is_the_share_of_gold_words_in_the_answer(answer: str, gold: str, share: float) -> None:
    assert overlap(answer, gold) == pytest.approx(share)


MODEL = "model:m"
FIRST_WORD = Cut("first word", lambda answer: answer.split(" ")[0])


def test_repeated_answer_is_not_judged_yet(tmp_path: Path) -> None:
    keep_verdict(tmp_path, MODEL, turn_record("312 pages"))
    keep_verdict(tmp_path, MODEL, turn_record(None, session="t"))
    now = [turn_record("312 pages"), turn_record("200 pages", session="t")]
    scored, unjudged = score_records(now, tmp_path, MODEL)
    assert ([each.record.session_id for each in scored], unjudged) == (["s"], 1)


def test_verdicts_of_other_rules_or_cuts_are_ignored(tmp_path: Path) -> None:
    keep_verdict(tmp_path, MODEL, turn_record("312 pages"), version="an older wording")
    with pytest.raises(NotJudged, match="other answers"):
        score_records([turn_record("312 pages")], tmp_path, MODEL)
    keep_verdict(tmp_path, MODEL, turn_record("312 pages"))
    with pytest.raises(NotJudged):
        score_records([turn_record("312 pages")], tmp_path, MODEL, FIRST_WORD)


def test_human_labels_hold_under_any_cut(tmp_path: Path) -> None:
    keep_verdict(tmp_path, HUMAN, turn_record("312 pages"))
    scored, unjudged = score_records([turn_record("312 pages")], tmp_path, HUMAN, FIRST_WORD)
    assert (len(scored), unjudged) == (1, 0)
