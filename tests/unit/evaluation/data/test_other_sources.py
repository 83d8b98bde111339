"""Datasets from user folders, world folders and the Hugging Face hub."""

import json
from collections.abc import Callable, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
from huggingface_hub import errors

from evaluation.data.model import AnswerType, Dataset, DatasetError, Part
from evaluation.data.opening import open_dataset
from evaluation.data.rows import sample
from tests.unit.chassis.picture_hosts import picture
from tests.unit.evaluation.data.benchmark import SINGLE_NAMES, columns, row, write_parquet
from tests.unit.evaluation.runs.small_world import numbered, write_world

Line = dict[str, Any]


def plain(folder: Path, *lines: Line | str, **options: Any) -> Dataset:
    (folder / "photos").mkdir(exist_ok=True)
    for name in ("a.jpg", "b.jpg"):
        (folder / "photos" / name).write_bytes(picture())
    written = [each if isinstance(each, str) else json.dumps(each) for each in (QUESTION, *lines)]
    (folder / "questions.jsonl").write_text("\n".join(written))
    return open_dataset(str(folder), **options)


QUESTION = {"photo": "photos/a.jpg", "question": "what is it?", "answer": "A jar.", "domain": "museum"}


def test_custom_question_has_its_photo_and_labels(tmp_path: Path) -> None:
    (conversation,) = plain(tmp_path).conversations
    (turn,) = conversation.turns
    assert (conversation.session_id, conversation.photo) == ("line-1", tmp_path / "photos/a.jpg")
    assert (turn.gold, turn.domain, turn.truth, turn.answerable) == ("A jar.", "museum", None, True)


def test_lines_of_a_session_are_a_conversation(tmp_path: Path) -> None:
    lines = [
        {"session_id": "s", "photo": "photos/b.jpg", "question": "who made it?"},
        {"session_id": "t", "photo": "photos/a.jpg", "question": "what is this?"},
        {"session_id": "s", "question": "and when?", "answer": "In 1907."},
    ]
    dataset = plain(tmp_path, *lines)
    (talk,) = [each for each in dataset.conversations if each.session_id == "s"]
    assert [(turn.interaction_id, turn.question) for turn in talk.turns] == [
        ("s.0", "who made it?"),
        ("s.1", "and when?"),
    ]
    assert talk.part is Part.MULTI
    assert len(plain(tmp_path, *lines, part=Part.SINGLE).conversations) == 2
    assert len(plain(tmp_path, *lines, limit=1).conversations) == 2


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("malformed_row", "{"),
        ("malformed_row", {**QUESTION, "photo": "../a.jpg"}),
        ("malformed_row", {**QUESTION, "photo": "photos/out.jpg"}),
        ("malformed_row", {**QUESTION, "question": 7}),
        ("malformed_row", {**QUESTION, "session_id": "a\nb"}),
        ("missing_image", {"question": "what is it?"}),
        ("missing_image", {**QUESTION, "photo": "photos/none.jpg"}),
        ("missing_image", {**QUESTION, "photo": "a" * 5000}),
        ("unreadable_image", {**QUESTION, "photo": "questions.jsonl"}),
        ("unknown_label", {**QUESTION, "domain": 3}),
        ("unknown_label", {**QUESTION, "domain": "\x1b[2J"}),
        ("repeated_interaction", {**QUESTION, "interaction_id": "line-1.0"}),
        ("repeated_session", {**QUESTION, "session_id": "line-1"}),
    ],
)
def test_bad_line_of_a_custom_file_is_reported_with_its_number(
    tmp_path: Path, kind: str, line: Line | str
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.jpg").write_bytes(picture())
    own = tmp_path / "own"
    (own / "photos").mkdir(parents=True)
    (own / "photos/out.jpg").symlink_to(tmp_path / "outside/secret.jpg")
    dataset = plain(own, line)
    assert dataset.rejections == {kind: 1}
    assert dataset.rejected[0].where == "questions.jsonl, line 2"
    assert len(dataset.conversations) == 1


def test_incomplete_conversation_is_rejected(tmp_path: Path) -> None:
    talk = {**QUESTION, "session_id": "s"}
    dataset = plain(tmp_path, talk, {**talk, "question": ""}, talk)
    assert dataset.rejections == {"empty_question": 1, "incomplete_session": 2}
    assert [each.session_id for each in dataset.conversations] == ["line-1"]


def test_synthetic_world_folder_is_recognised(tmp_path: Path) -> None:
    dataset = open_dataset(str(world(tmp_path, 1, [3])))
    assert [each.part for each in dataset.conversations] == [Part.SINGLE, Part.MULTI]
    truths = [turn.truth for each in dataset.conversations for turn in each.turns]
    assert [truth and truth.answer_type for truth in truths] == [AnswerType.NAME] * 4
    assert open_dataset(str(tmp_path.parent), split=tmp_path.name) == dataset
    with pytest.raises(DatasetError, match="no multi-turn"):
        open_dataset(str(world(tmp_path)), part=Part.MULTI)
    with pytest.raises(DatasetError, match="no split 'test'"):
        open_dataset(str(tmp_path), split="test")


@pytest.mark.parametrize("source", ["nowhere", "a/b/c", "../x/y", "owner/..", "", "https://a.example/b"])
def test_unknown_source_is_refused(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DatasetError, match=r"neither a file nor a folder nor a hub id|holds nothing to ask"):
        open_dataset(source)


def test_unreadable_folder_error_lists_the_expected_files(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(DatasetError, match=r"truth\.jsonl.*questions\.jsonl.*Parquet"):
        open_dataset(str(tmp_path))
    with pytest.raises(DatasetError, match="neither a Parquet file"):
        open_dataset(str(tmp_path / "notes.txt"))


def test_files_of_other_splits_are_not_downloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for split in ("validation", "public_test"):
        path = tmp_path / "hub/data" / f"{split}-00000-of-00001.parquet"
        write_parquet(path, [columns(row(split))], SINGLE_NAMES)
    requests = list[Line]()

    def download(repository: str, **options: Any) -> str:
        requests.append(options)
        return str(tmp_path / "hub")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    hosted = "crag-mm-2025/crag-mm-multi-turn-public@v0.1.2"
    dataset = open_dataset(hosted, cache=tmp_path / "cache", split="public_test")
    assert dataset.name == "crag-mm-multi-turn-public@v0.1.2/public_test"
    assert dataset.conversations[0].session_id == "public_test"
    assert dataset.conversations[0].part is Part.MULTI
    (request,) = requests
    assert fnmatch("data/public_test-00000-of-00001.parquet", request["allow_patterns"])
    assert not fnmatch("data/validation-00000-of-00001.parquet", request["allow_patterns"])
    assert request["revision"] == "v0.1.2"
    with pytest.raises(DatasetError, match="no Parquet files of a split 'train'"):
        open_dataset("owner/name", cache=tmp_path / "cache", split="train")


def test_unreachable_hub_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise errors.LocalEntryNotFoundError("not here")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    with pytest.raises(DatasetError, match=r"owner/name could not be fetched: not here\. You can also give"):
        open_dataset("owner/name")


def world(folder: Path, single: int = 1, multi: Sequence[int] = ()) -> Path:
    """So many questions, and conversations of so many turns."""
    return write_world(folder, numbered(single), [numbered(turns) for turns in multi])


@pytest.mark.parametrize(
    ("file", "change", "named"),
    [
        ("truth.jsonl", lambda _: b"", r"truth\.jsonl has nothing on interaction questions-0\.0"),
        ("questions.jsonl", lambda lines: lines.replace(b'"static"', b""), r"questions\.jsonl, line 1"),
        *[
            ("truth.jsonl", lambda _, line=line: line, r"truth\.jsonl, line 1")
            for line in (b"\xff", b"[" * 100_000, b'{"n": ' + b"9" * 5_000 + b"}")
        ],
        *[
            (name, None, name)
            for name in ("truth.jsonl", "questions.jsonl", "conversations.jsonl", "photo.jpg")
        ],
    ],
)
def test_incomplete_folder_is_refused_in_one_sentence(
    tmp_path: Path, file: str, change: Callable[[bytes], bytes] | None, named: str
) -> None:
    path = world(tmp_path) / file
    content = path.read_bytes()
    path.unlink()
    if change:
        path.write_bytes(change(content))
    with pytest.raises(DatasetError, match=named):
        open_dataset(str(tmp_path))


def test_sample_is_the_first_items_or_seeded() -> None:
    many = tuple(range(20))
    assert sample(many, 3, None) == many[:3]
    assert sample(many, None, 1) == many
    assert sample(many, 5, 1) == tuple(sorted(sample(many, 5, 1)))
    assert sample(many, 5, 1) != sample(many, 5, 2)
