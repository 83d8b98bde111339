"""World folders like `samples` are complete or refused."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from evaluation.data.model import AnswerType, DatasetError, Part
from evaluation.data.world import load_world, sample, truth_of
from tests.unit.evaluation.runs.small_world import numbered, write_world


def world(folder: Path, single: int = 1, multi: Sequence[int] = ()) -> Path:
    """So many questions, and conversations of so many turns."""
    return write_world(folder, numbered(single), [numbered(turns) for turns in multi])


def test_both_parts_are_read_with_their_truth(tmp_path: Path) -> None:
    held = load_world(world(tmp_path, 2, [3]))
    assert [each.part for each in (*held.single, *held.multi)] == [Part.SINGLE, Part.SINGLE, Part.MULTI]
    assert len(held.multi[0].turns) == 3
    assert truth_of(held.single[0].turns[0]).answer_type is AnswerType.NAME


def test_a_question_without_truth_is_refused_by_name(tmp_path: Path) -> None:
    (world(tmp_path) / "truth.jsonl").write_text("")
    with pytest.raises(DatasetError, match=r"truth\.jsonl has nothing on interaction questions-0\.0"):
        load_world(tmp_path)


def test_a_line_that_does_not_fit_is_named(tmp_path: Path) -> None:
    path = world(tmp_path, 2) / "questions.jsonl"
    first, second = path.read_text().splitlines()
    path.write_text(first + "\n" + second.replace('"static"', ""))
    with pytest.raises(DatasetError, match=r"questions\.jsonl, line 2"):
        load_world(tmp_path)


@pytest.mark.parametrize("line", [b"\xff", b"[" * 100_000, b'{"n": ' + b"9" * 5_000 + b"}"])
def test_a_line_that_nothing_can_read_is_refused_in_a_sentence(tmp_path: Path, line: bytes) -> None:
    (world(tmp_path) / "truth.jsonl").write_bytes(line)
    with pytest.raises(DatasetError, match=r"truth\.jsonl"):
        load_world(tmp_path)


@pytest.mark.parametrize("missing", ["truth.jsonl", "questions.jsonl", "conversations.jsonl", "photo.jpg"])
def test_a_file_that_is_not_there_is_named(tmp_path: Path, missing: str) -> None:
    (world(tmp_path) / missing).unlink()
    with pytest.raises(DatasetError, match=missing):
        load_world(tmp_path)


def test_a_session_that_comes_twice_is_named(tmp_path: Path) -> None:
    path = world(tmp_path) / "questions.jsonl"
    path.write_text(path.read_text() * 2)
    with pytest.raises(DatasetError, match="questions-0 comes 2 times"):
        load_world(tmp_path)


def test_a_sample_is_the_first_ones_or_the_choice_of_a_seed(tmp_path: Path) -> None:
    many = load_world(world(tmp_path, 20)).single
    assert sample(many, 3, None) == many[:3]
    assert sample(many, None, 1) == many
    assert sample(many, 5, 1) == sample(many, 5, 1)
    assert sample(many, 5, 1) != sample(many, 5, 2)
