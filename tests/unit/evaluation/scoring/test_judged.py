"""Stored verdicts apply only to the answers and rules they were made for."""

from pathlib import Path

import pytest

from evaluation.judging.model_judge import version_of
from evaluation.judging.verdicts import HUMAN, Judgement, Verdict, VerdictCache, key_of, verdict_file
from evaluation.record import TurnRecord
from evaluation.scoring.scored import NotJudged, case_of, judged
from tests.unit.evaluation.scoring.predictions import turn_record

MODEL = "model:m"


class FirstWord:
    """A cut that leaves one word."""

    name = "first word"

    def __call__(self, answer: str) -> str:
        return answer.split(" ")[0]


def keep(folder: Path, judge: str, record: TurnRecord, version: str | None = None) -> None:
    case = case_of(record)
    with VerdictCache(verdict_file(folder, judge)) as cache:
        key = key_of(case, judge, version_of(judge) if version is None else version)
        cache.put(key, case, Judgement(Verdict.CORRECT, ""))


def test_a_verdict_holds_for_the_answer_it_was_given_on(tmp_path: Path) -> None:
    keep(tmp_path, MODEL, turn_record("312 pages"))
    scored, unjudged = judged([turn_record("312 pages")], tmp_path, MODEL)
    assert (len(scored), unjudged) == (1, 0)


def test_an_answer_that_was_asked_for_again_is_not_judged_yet(tmp_path: Path) -> None:
    keep(tmp_path, MODEL, turn_record("312 pages"))
    keep(tmp_path, MODEL, turn_record(None, session="t"))
    now = [turn_record("312 pages"), turn_record("200 pages", session="t")]
    scored, unjudged = judged(now, tmp_path, MODEL)
    assert ([each.record.session_id for each in scored], unjudged) == (["s"], 1)


def test_verdicts_by_other_rules_or_of_another_cut_do_not_count(tmp_path: Path) -> None:
    keep(tmp_path, MODEL, turn_record("312 pages"), version="an older wording")
    with pytest.raises(NotJudged, match="other answers"):
        judged([turn_record("312 pages")], tmp_path, MODEL)
    keep(tmp_path, MODEL, turn_record("312 pages"))
    with pytest.raises(NotJudged):
        judged([turn_record("312 pages")], tmp_path, MODEL, FirstWord())


def test_human_labels_hold_under_any_cut(tmp_path: Path) -> None:
    keep(tmp_path, HUMAN, turn_record("312 pages"))
    scored, unjudged = judged([turn_record("312 pages")], tmp_path, HUMAN, FirstWord())
    assert (len(scored), unjudged) == (1, 0)
