"""Agreement of two judges."""

import math

import pytest

from evaluation.judging.agreement import agreement
from evaluation.judging.verdicts import Judgement, Verdict

C, M, X = Verdict.CORRECT, Verdict.MISSING, Verdict.INCORRECT


def judgements(*verdicts: Verdict) -> dict[str, Judgement]:
    return {f"i{n:02}": Judgement(verdict, "so") for n, verdict in enumerate(verdicts)}


def test_kappa_is_what_the_textbook_gives() -> None:
    """Cohen's example: 20 and 15 agreed on, 5 and 10 not, kappa .4."""
    first = judgements(*[C] * 25, *[X] * 25)
    second = judgements(*[C] * 20, *[X] * 5, *[C] * 10, *[X] * 15)
    found = agreement(first, second)
    assert (found.count, found.accuracy) == (50, 0.7)
    assert found.kappa == pytest.approx(0.4)
    assert found.confusion == {(C, C): 20, (C, X): 5, (X, C): 10, (X, X): 15}


def test_worst_disagreements_come_first() -> None:
    found = agreement(judgements(M, C, C, C), judgements(X, M, X, C))
    assert [each.interaction_id for each in found.disagreements] == ["i02", "i00", "i01"]


def test_failed_and_unshared_are_counted() -> None:
    first = judgements(C, C, C) | {"only": Judgement(C, "")}
    second = judgements(C, C) | {"i02": Judgement(X, "timed out", failed=True)}
    found = agreement(first, second)
    assert (found.count, found.accuracy, found.failed, found.unshared) == (2, 1, 1, 1)


def test_where_all_are_alike_kappa_says_nothing() -> None:
    assert math.isnan(agreement(judgements(C, C), judgements(C, C)).kappa)
    assert math.isnan(agreement({}, {}).accuracy)
    assert math.isnan(agreement({}, {}).kappa)
