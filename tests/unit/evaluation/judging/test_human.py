"""Labels of people, and the agreement of two judges."""

import math
from pathlib import Path

import pytest

from evaluation.data.model import Rejected
from evaluation.judging.agreement import agreement
from evaluation.judging.verdicts import Judgement, LabelsError, Verdict, read_human

CSV = """interaction_id,label,annotator
i1,perfect,x
 i2 , Acceptable ,x
i3,missing,x
i4,INCORRECT,x
"""
JSONL = """{"interaction_id": "i1", "label": "perfect"}

{"interaction_id": "i2", "label": "acceptable", "note": "nearly"}
{"interaction_id": "i3", "label": "missing"}
{"interaction_id": "i4", "label": "incorrect"}
"""
FOUR = {"i1": Verdict.CORRECT, "i2": Verdict.ACCEPTABLE, "i3": Verdict.MISSING, "i4": Verdict.INCORRECT}


def verdicts(path: Path) -> dict[str, Verdict]:
    return {name: judgement.verdict for name, judgement in read_human(path).items()}


@pytest.mark.parametrize(
    ("name", "text"), [("labels.csv", CSV), ("labels.CSV", "\ufeff" + CSV), ("l.jsonl", JSONL)]
)
def test_labels_are_read_from_csv_and_json_lines(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert verdicts(tmp_path / name) == FOUR


def test_rows_that_cannot_be_used_are_named_and_the_others_kept(tmp_path: Path) -> None:
    rows = (
        '{"interaction_id": "i1", "label": "perfect"}',
        '{"interaction_id": "i2", "label": "superb"}',
        '{"interaction_id": "elsewhere", "label": "perfect"}',
        '{"interaction_id": "i1", "label": "incorrect"}',
        '{"interaction_id": 7, "label": "perfect"}',
        '{"label": "perfect"}',
        "[1]",
        "{",
    )
    (tmp_path / "l.jsonl").write_text("\n".join(rows))
    rejected: list[Rejected] = []
    found = read_human(tmp_path / "l.jsonl", {"i1", "i2"}, rejected.append)
    assert {name: judgement.verdict for name, judgement in found.items()} == {"i1": Verdict.CORRECT}
    assert [row.kind for row in rejected] == [
        "unknown_label", "unknown_interaction", "repeated_interaction", *["malformed_row"] * 4,
    ]  # fmt: skip
    assert rejected[0].where == "l.jsonl, line 2"
    assert "perfect, acceptable, missing, incorrect" in rejected[0].why


@pytest.mark.parametrize(
    ("name", "content"),
    [("none.csv", None), ("l.csv", b"id,verdict\n1,2\n"), ("l.csv", b""), ("l.jsonl", b"\xff\xfe\x00")],
)
def test_a_file_that_cannot_be_read_is_refused_by_name(
    tmp_path: Path, name: str, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(LabelsError, match=name):
        read_human(tmp_path / name)


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
