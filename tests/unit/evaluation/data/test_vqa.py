"""InfoSeek, E-VQA and OK-VQA as they are published."""

from pathlib import Path
from typing import Any

import pytest

from evaluation.data.model import AnswerType, AskedTurn, Dataset, DatasetError, Part, Scorer, Truth
from evaluation.data.opening import open_dataset
from tests.unit.evaluation.data.vqa_files import EVQA, OK_ANSWERS, SEEK, evqa, infoseek, okvqa
from tests.unit.evaluation.runs.small_world import WHO, write_world


def turns(dataset: Dataset) -> list[tuple[AskedTurn, Truth]]:
    pairs = [(each.turns[0], each.turns[0].truth) for each in dataset.conversations]
    return [(turn, truth) for turn, truth in pairs if truth]


def test_infoseek_is_read_with_its_splits_answers_and_ranges(tmp_path: Path) -> None:
    dataset = open_dataset(infoseek(tmp_path))
    assert (dataset.name, dataset.rejected) == ("infoseek/infoseek_val", ())
    photos = [each.photo and each.photo.name for each in dataset.conversations]
    assert photos == ["oven_04990048.jpg", "oven_05072023.JPEG"]
    (text, text_truth), (number, number_truth) = turns(dataset)
    assert (text.query_category, text.domain, text.gold) == ("unseen_question", "string", "Edda Marr")
    assert (text_truth.accepted, text_truth.photographed) == (("Edda Marr", "E. Marr"), "Harl Bridge")
    assert (number.query_category, number.domain, number.gold) == ("unseen_entity", "numerical", "120")
    assert (number_truth.range, number_truth.answer_type) == ((108.0, 132.0), AnswerType.NUMBER)
    assert {truth.scorer for _, truth in turns(dataset)} == {Scorer.INFOSEEK}


@pytest.mark.parametrize(
    ("given", "limits"),
    [
        ({"wikidata": 10.0, "range": [9.0, 11.0]}, (9.0, 11.0)),
        ({"wikidata": 10}, (9.0, 11.0)),
        ([10], (9.0, 11.0)),
        ([-10], (-11.0, -9.0)),
        (None, (108.0, 132.0)),
        (["7", "8"], (7.0, 8.0)),
    ],
)
def test_a_number_without_a_range_is_right_within_a_tenth(
    tmp_path: Path, given: Any, limits: tuple[float, float]
) -> None:
    source = infoseek(tmp_path, [{**SEEK[1], "answer_eval": given}])
    ((_, truth),) = turns(open_dataset(source))
    assert truth.range == pytest.approx(limits)


def test_infoseeks_test_split_has_no_answers(tmp_path: Path) -> None:
    row = {key: value for key, value in SEEK[0].items() if not key.startswith("answer")}
    (conversation,) = open_dataset(infoseek(tmp_path, [row])).conversations
    assert (conversation.turns[0].gold, conversation.turns[0].truth) == ("", None)


def test_evqa_is_read_with_lists_alternatives_and_photos_by_id(tmp_path: Path) -> None:
    dataset = open_dataset(evqa(tmp_path, [*EVQA, {**EVQA[0], "question_type": "infoseek"}]))
    assert dataset.rejections == {"unknown_label": 1}
    assert [each.photo and each.photo.name for each in dataset.conversations] == ["ab-cd.jpg", "f00dcafe.jpg"]
    (listed, list_truth), (hops, hop_truth) = turns(dataset)
    assert (listed.gold, list_truth.accepted) == ("moss, bark", ("moss&&bark", "lichen"))
    assert (listed.query_category, listed.domain) == ("multi_answer", "inaturalist")
    assert (list_truth.answer_type, hop_truth.answer_type) == (AnswerType.SET, AnswerType.NAME)
    assert (hops.query_category, hop_truth.photographed) == ("2_hop", "Harl Tower")


def test_okvqa_keeps_all_ten_answers(tmp_path: Path) -> None:
    dataset = open_dataset(okvqa(tmp_path))
    ((turn, truth),) = turns(dataset)
    assert truth.accepted == OK_ANSWERS
    assert (turn.gold, turn.domain, turn.interaction_id) == ("ride", "Sports and Recreation", "420")
    assert dataset.rejections == {"malformed_row": 2}


def test_folder_can_have_a_benchmarks_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_world(tmp_path / "evqa", [WHO], [])
    monkeypatch.chdir(tmp_path)
    assert len(open_dataset("evqa").conversations) == 1


@pytest.mark.parametrize(
    ("kind", "row"),
    [
        ("malformed_row", "{"),
        ("malformed_row", {**SEEK[1], "answer_eval": {"range": ["low", "high"]}}),
        ("malformed_row", {**SEEK[1], "answer_eval": {"range": [float("nan"), 1]}}),
        ("malformed_row", {**SEEK[1], "answer_eval": {"range": [10**400, 1]}}),
        ("malformed_row", {**SEEK[0], "answer_eval": ["x"] * 101}),
        ("missing_image", {**SEEK[0], "data_id": "other", "image_id": "../secret"}),
    ],
)
def test_a_bad_row_of_infoseek_is_named(tmp_path: Path, kind: str, row: Any) -> None:
    dataset = open_dataset(infoseek(tmp_path, [SEEK[1], row]))
    assert dataset.rejections == {kind: 1}
    assert dataset.rejected[0].where == "infoseek_val.jsonl, line 2"


def test_a_limit_reads_the_photos_of_the_chosen_questions_only(tmp_path: Path) -> None:
    source = infoseek(tmp_path)
    (tmp_path / "images/05/oven_05072023.JPEG").unlink()
    assert open_dataset(source, limit=1).rejected == ()
    with pytest.raises(DatasetError, match="several turns"):
        open_dataset(source, part=Part.MULTI)


@pytest.mark.parametrize("source", ["infoseek:nowhere.jsonl", "evqa:nowhere.csv", "okvqa:nowhere.json"])
def test_a_missing_file_is_named(tmp_path: Path, source: str) -> None:
    kind, _, name = source.partition(":")
    with pytest.raises(DatasetError, match="cannot be read"):
        open_dataset(f"{kind}:{tmp_path / name}")
