"""Read people's labels from files."""

from pathlib import Path

import pytest

from evaluation.data.model import Rejected
from evaluation.judging.verdicts import LabelsError, Verdict, read_human

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
