"""Where a run could stand: thresholds for several aims, judged on articles that they were not chosen on."""

from pathlib import Path

import pytest

from evaluation.calibration.operating import CEILINGS, operating_points
from tests.unit.evaluation.runs.squad_runs import GOLD, OTHER, Question, questions, write_run


def telling(article: str) -> list[Question]:
    """Right above .5 and wrong below it, as sure as can be."""
    sure = [Question(0.5 + place / 100, GOLD, True, article) for place in range(1, 31)]
    unsure = [Question(0.5 - place / 100, OTHER, place % 2 > 0, article) for place in range(1, 21)]
    return sure + unsure


def test_signals_that_tell_right_from_wrong_lose_nothing(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [each for name in ("Harl", "Orrin", "Senn") for each in telling(name)])
    points = operating_points(run)
    assert len(points) == 1 + len(CEILINGS)
    for point in points[:2]:
        assert point.outcomes.right == pytest.approx(90 / 120)
    for point in (points[0], points[-1]):
        assert (point.outcomes.wrong, point.outcomes.answered) == (0.0, 0.0)
        assert 0.49 < point.changed["answer_confidence"] <= 0.51


def test_an_article_is_judged_under_thresholds_that_were_chosen_without_it(tmp_path: Path) -> None:
    misleading = [Question(0.9, OTHER, True, "Lisk") for _ in range(10)]
    asked = [*telling("Harl"), *telling("Orrin"), *telling("Senn"), *misleading]
    best, *_ = operating_points(write_run(tmp_path / "run", asked))
    assert best.outcomes.wrong == pytest.approx(10 / 130)


def test_lower_ceilings_give_fewer_wrong_answers_where_chosen_on_many(tmp_path: Path) -> None:
    points = operating_points(write_run(tmp_path / "run", questions(600)))
    wrong = [point.outcomes.wrong + point.outcomes.answered for point in points[1:]]
    assert wrong == sorted(wrong, reverse=True)
    assert wrong[0] > wrong[-1]


def test_of_one_article_fifths_are_held_out(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", telling("Harl"))
    assert operating_points(run)[0].outcomes.wrong <= 0.1


def test_a_run_that_tells_no_signals_or_has_no_thresholds_has_no_points(tmp_path: Path) -> None:
    assert operating_points(write_run(tmp_path / "silent", telling("Harl"), explained=False)) == []
    assert operating_points(write_run(tmp_path / "free", telling("Harl"), {})) == []
    assert operating_points(write_run(tmp_path / "few", telling("Harl")[:3])) == []
