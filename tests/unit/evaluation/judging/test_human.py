"""Labels of people, and the agreement of two judges."""

import math
from pathlib import Path

import pytest

from evaluation.judging.agreement import agreement
from evaluation.judging.verdicts import Judgement, LabelsError, Verdict, read_labels

CSV = """interaction_id,label,annotator
i1,perfect,x
 i2 , Acceptable ,x
i3,missing,x
i4,INCORRECT,x
"""
FOUR = {"i1": Verdict.CORRECT, "i2": Verdict.ACCEPTABLE, "i3": Verdict.MISSING, "i4": Verdict.INCORRECT}


@pytest.mark.parametrize("text", [CSV, "\ufeff" + CSV])
def test_labels_are_read_from_csv(tmp_path: Path, text: str) -> None:
    (tmp_path / "labels.csv").write_text(text, encoding="utf-8")
    judgements = read_labels(tmp_path / "labels.csv", FOUR.keys())
    assert {name: judgement.verdict for name, judgement in judgements.items()} == FOUR


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("i2,superb", "'superb' is none of perfect, acceptable, missing, incorrect"),
        ("i2", "'' is none of"),
        ("elsewhere,perfect", "'elsewhere' was not asked in this run"),
        ("i1,incorrect", "has a label already"),
    ],
)
def test_a_row_that_does_not_fit_is_refused_by_its_line(tmp_path: Path, row: str, why: str) -> None:
    (tmp_path / "l.csv").write_text(f"interaction_id,label\ni1,perfect\n{row}\n")
    with pytest.raises(LabelsError, match=rf"l\.csv, line 3: .*{why}"):
        read_labels(tmp_path / "l.csv", {"i1", "i2"})


@pytest.mark.parametrize("content", [None, b"id,verdict\n1,2\n", b"", b"\xff\xfe\x00"])
def test_a_file_that_cannot_be_read_is_refused_by_name(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "l.csv").write_bytes(content)
    with pytest.raises(LabelsError, match=r"l\.csv"):
        read_labels(tmp_path / "l.csv", ())


C, M, X = Verdict.CORRECT, Verdict.MISSING, Verdict.INCORRECT


def judgements(*verdicts: Verdict) -> dict[str, Judgement]:
    return {f"i{n:02}": Judgement(verdict, "so") for n, verdict in enumerate(verdicts)}


def test_kappa_is_what_the_textbook_gives() -> None:
    """Cohen's example: 20 and 15 agreed on, 5 and 10 not, kappa .4."""
    first = judgements(*[C] * 25, *[X] * 25)
    second = judgements(*[C] * 20, *[X] * 5, *[C] * 10, *[X] * 15)
    found = agreement(first, second)
    assert (len(found.verdicts), found.accuracy) == (50, 0.7)
    assert found.kappa == pytest.approx(0.4)
    assert found.confusion.to_numpy().tolist() == [[20, 5], [10, 15]]


def test_worst_disagreements_come_first() -> None:
    found = agreement(judgements(M, C, C, C), judgements(X, M, X, C))
    assert found.disagreements == ["i02", "i00", "i01"]


def test_failed_and_unshared_are_counted() -> None:
    first = judgements(C, C, C) | {"only": Judgement(C, "")}
    second = judgements(C, C) | {"i02": Judgement(X, "timed out", failed=True)}
    found = agreement(first, second)
    assert (len(found.verdicts), found.accuracy, found.failed, found.unshared) == (2, 1, 1, 1)


def test_where_all_are_alike_kappa_says_nothing() -> None:
    assert math.isnan(agreement(judgements(C, C), judgements(C, C)).kappa)
    assert math.isnan(agreement({}, {}).accuracy)
    assert math.isnan(agreement({}, {}).kappa)
