"""Which runs can be compared, and on which questions."""

from dataclasses import replace
from pathlib import Path

import pytest

from evaluation.data.model import Part
from evaluation.reporting.comparison import JudgedRun, ReportError, compared
from evaluation.scoring.scored import Scored
from tests.unit.evaluation.reporting.generated import Skill, questions, run

ASKED = questions(12, seed=1)


def judged(name: str, **changes: str) -> JudgedRun:
    generated = run(Skill(name), ASKED)
    header = generated.header.model_copy(update=changes)
    return JudgedRun(Path(f"runs/{name}"), header, generated.scored, {})


def without(judged_run: JudgedRun, *lost: str) -> JudgedRun:
    kept = tuple(each for each in judged_run.scored if each.record.interaction_id not in lost)
    return replace(judged_run, scored=kept)


def ids(scored: tuple[Scored, ...]) -> list[str]:
    return [each.record.interaction_id for each in scored]


def test_runs_on_different_datasets_are_refused_by_name() -> None:
    with pytest.raises(ReportError, match=r"runs/other one on crag-mm: only runs on the same dataset"):
        compared([judged("one"), judged("other", dataset="crag-mm")])


def test_the_same_question_in_other_words_is_refused() -> None:
    other = judged("other")
    changed = other.scored[3].record.model_copy(update={"gold": "Something else."})
    scored = (*other.scored[:3], replace(other.scored[3], record=changed), *other.scored[4:])
    with pytest.raises(ReportError, match=f"question {changed.interaction_id} in other words"):
        compared([judged("one"), replace(other, scored=scored)])


def test_unfinished_conversation_is_left_out() -> None:
    last = next(record for record in reversed(ASKED) if record.part is Part.MULTI)
    comparison = compared([judged("one"), without(judged("other"), last.interaction_id)])
    for each in comparison.runs.values():
        assert all(turn.record.session_id != last.session_id for turn in each.scored)
    one, other = comparison.runs.values()
    assert ids(one.scored) == ids(other.scored)
    assert "The runs overlap only in part: 11 of 12 conversations" in comparison.remarks[0]


def test_answers_that_were_withheld_are_cut_down_with_the_rest() -> None:
    one = judged("one")
    lost = one.scored[0].record
    comparison = compared([replace(one, withheld=one.scored), without(judged("other"), lost.interaction_id)])
    assert lost.session_id not in {each.record.session_id for each in comparison.runs["one"].withheld}


def test_runs_without_a_common_conversation_are_refused() -> None:
    early = {record.session_id for record in ASKED[: len(ASKED) // 2]}
    first = without(judged("one"), *(r.interaction_id for r in ASKED if r.session_id in early))
    second = without(judged("other"), *(r.interaction_id for r in ASKED if r.session_id not in early))
    with pytest.raises(ReportError, match="no conversation in common"):
        compared([first, second])


def test_runs_of_one_name_are_told_apart() -> None:
    comparison = compared(
        [judged("same"), judged("same"), replace(judged("same"), folder=Path("runs/third"))]
    )
    assert list(comparison.runs) == ["same", "same (2)", "same (3)"]


def test_another_selection_of_the_dataset_is_said() -> None:
    comparison = compared([judged("one"), judged("other", fingerprint="f2")])
    assert "different selections of the dataset" in comparison.remarks[-1]
