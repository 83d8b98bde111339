"""SQuAD files as a dataset: questions, pages, selection and bad input."""

from pathlib import Path
from typing import Any

import pytest

from corpus.items import PageItem, page_items
from evaluation.data.model import AnswerType, Dataset, DatasetError, Part
from evaluation.data.opening import open_dataset
from evaluation.data.squad import NO_ANSWER, SquadChoice
from evaluation.runs.running import write_pages
from tests.unit.chassis.picture_hosts import picture
from tests.unit.evaluation.data.small_squad import (
    BELL,
    FERRY,
    OPENED,
    WINTER,
    answered,
    articles,
    impossible,
    write_squad,
)


def opened(folder: Path, data: Any = None, **options: Any) -> Dataset:
    path = write_squad(folder / "few.json", data)
    return open_dataset(f"squad:{path}", **options)


def ids(dataset: Dataset) -> list[str]:
    return [turn.interaction_id for each in dataset.conversations for turn in each.turns]


def chosen(folder: Path, limit: int | None = None, seed: int | None = None, **choice: Any) -> list[str]:
    return ids(opened(folder, limit=limit, seed=seed, squad=SquadChoice(**choice)))


def test_squad_questions_keep_order_and_distinct_gold_answers(
    tmp_path: Path,
) -> None:
    dataset = opened(tmp_path)
    assert (dataset.name, dataset.rejected) == ("few.json", ())
    assert ids(dataset) == ["f1", "f2", "f3", "f4", "b1", "b2"]
    assert {(each.part, each.photo) for each in dataset.conversations} == {(Part.SINGLE, None)}
    first, _, sunk, *_ = (each.turns[0] for each in dataset.conversations)
    assert first.truth
    assert sunk.truth
    assert (first.question, first.domain) == (OPENED["question"], "Harl, on the Senn")
    assert (first.gold, first.truth.accepted) == ("12 May 1881", ("12 May 1881", "May 1881"))
    assert (first.truth.answer_type, first.answerable) == (AnswerType.SPAN, True)
    assert (sunk.truth.answer_type, sunk.answerable, sunk.gold) == (AnswerType.UNANSWERABLE, False, NO_ANSWER)
    assert (sunk.truth.accepted, sunk.truth.must_not) == ((), ("12 May 1881",))


def test_squad_pages_are_indexed_with_their_text(tmp_path: Path) -> None:
    items = list(page_items(write_pages(opened(tmp_path).texts, tmp_path / "run")))
    pages = [item for item in items if isinstance(item, PageItem)]
    assert len(pages) == len(items) == 3
    assert [chunk.text for page in pages for chunk in page.chunks] == [FERRY, WINTER, BELL]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({"articles": ("bell of orrin",)}, ["b1", "b2"]),
        ({"articles": ("Bell of Orrin,Harl, on the Senn",)}, ["f1", "f2", "f3", "f4", "b1", "b2"]),
        ({"articles": ("Bell of Orrin", "Harl,_on_the_Senn")}, ["f1", "f2", "f3", "f4", "b1", "b2"]),
        (
            {"articles": ("Harl, on the Senn, Bell of Orrin",), "left_out": ("Bell of Orrin",)},
            ["f1", "f2", "f3", "f4"],
        ),
    ],
)
def test_articles_are_chosen_by_title(tmp_path: Path, choice: dict[str, Any], expected: list[str]) -> None:
    assert chosen(tmp_path, **choice) == expected


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_unanswerable_share_of_a_limit(tmp_path: Path, seed: int | None) -> None:
    conversations = chosen(tmp_path, limit=3, seed=seed, unanswerable=1)
    assert conversations == [name for name in chosen(tmp_path) if name in conversations]
    assert len(conversations) == 3
    assert len({"f3", "b2"} & set(conversations)) == 1


def test_one_photo_can_be_sent_with_every_question(tmp_path: Path) -> None:
    photo = tmp_path / "street.jpg"
    photo.write_bytes(picture())
    with_photo = opened(tmp_path, squad=SquadChoice(photo=photo))
    assert {each.photo for each in with_photo.conversations} == {photo}
    assert with_photo.fingerprint != opened(tmp_path).fingerprint


@pytest.mark.parametrize("content", [b"no picture", None])
def test_invalid_photo_is_refused_before_any_question(tmp_path: Path, content: bytes | None) -> None:
    photo = tmp_path / "street.jpg"
    if content:
        photo.write_bytes(content)
    with pytest.raises(DatasetError, match="cannot be sent along"):
        opened(tmp_path, squad=SquadChoice(photo=photo))


def changed(**fields: Any) -> dict[str, Any]:
    return {**answered("x", "Who?", "Edda Marr"), **fields}


@pytest.mark.parametrize(
    ("kind", "question"),
    [
        ("malformed_row", "no object"),
        ("malformed_row", changed(answers="Edda Marr")),
        ("malformed_row", changed(answers=["Edda Marr"])),
        ("malformed_row", changed(is_impossible="no")),
        ("malformed_row", changed(is_impossible=True)),
        ("empty_answer", changed(answers=[])),
        ("empty_answer", changed(answers=[{"text": " "}])),
        ("empty_answer", {**impossible("x", "Who?", ""), "plausible_answers": [{"text": ""}]}),
    ],
)
def test_unusable_question_is_reported_with_its_position(tmp_path: Path, kind: str, question: Any) -> None:
    data = articles()
    data[1]["paragraphs"][0]["qas"].insert(1, question)
    dataset = opened(tmp_path, data)
    assert [(each.kind, each.where) for each in dataset.rejected] == [(kind, "data[1].paragraphs[0].qas[1]")]
    assert len(dataset.conversations) == 6


@pytest.mark.parametrize("content", ["{", "[]", "7", '{"data": {}}', "[" * 100_000, "\ufeff{}"])
def test_a_file_of_another_kind_is_refused_in_a_sentence(tmp_path: Path, content: str) -> None:
    (tmp_path / "other.json").write_text(content, "utf-8")
    with pytest.raises(DatasetError, match=r"not JSON|not of SQuAD's format"):
        open_dataset(f"squad:{tmp_path}/other.json")


def test_empty_sources_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="cannot be opened"):
        open_dataset(f"squad:{tmp_path}/none.json")
    with pytest.raises(DatasetError, match="holds no conversations"):
        opened(tmp_path, [])
    with pytest.raises(DatasetError, match="malformed_row"):
        opened(tmp_path, [7])
    with pytest.raises(DatasetError, match="neither splits nor conversations"):
        opened(tmp_path, part=Part.MULTI)
