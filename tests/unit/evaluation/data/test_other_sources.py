"""Datasets from user folders, world folders and the Hugging Face hub."""

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
from tests.unit.evaluation.data.benchmark import SINGLE_NAMES, columns, row, write_jsonl, write_parquet
from tests.unit.evaluation.runs.small_world import numbered, write_world

Line = dict[str, Any]


def plain(folder: Path, *lines: Line | str, **options: Any) -> Dataset:
    (folder / "photos").mkdir(exist_ok=True)
    for name in ("a.jpg", "b.jpg"):
        (folder / "photos" / name).write_bytes(picture())
    write_jsonl(folder / "questions.jsonl", [QUESTION, *lines])
    return open_dataset(str(folder), **options)


QUESTION = {"photo": "photos/a.jpg", "question": "what is it?", "answer": "A jar.", "domain": "museum"}


def test_a_question_of_ones_own_is_asked_with_its_photo_and_labels(tmp_path: Path) -> None:
    (conversation,) = plain(tmp_path).conversations
    assert (conversation.session_id, conversation.part, conversation.photo) == (
        "line-1",
        Part.SINGLE,
        tmp_path / "photos/a.jpg",
    )
    assert (conversation.turns[0].gold, conversation.turns[0].domain, conversation.turns[0].truth) == (
        "A jar.",
        "museum",
        None,
    )
    assert conversation.turns[0].answerable


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
        ("malformed_row", {**QUESTION, "photo": "/etc/hostname"}),
        ("malformed_row", {**QUESTION, "photo": "photos/out.jpg"}),
        ("malformed_row", {**QUESTION, "question": 7}),
        ("malformed_row", {**QUESTION, "session_id": "a\nb"}),
        ("malformed_row", {**QUESTION, "answer": ["A jar."]}),
        ("missing_image", {"question": "what is it?"}),
        ("missing_image", {**QUESTION, "photo": "photos/none.jpg"}),
        ("missing_image", {**QUESTION, "photo": "photos"}),
        ("missing_image", {**QUESTION, "photo": "a" * 5000}),
        ("unreadable_image", {**QUESTION, "photo": "questions.jsonl"}),
        ("empty_question", {**QUESTION, "question": " "}),
        ("unknown_label", {**QUESTION, "domain": 3}),
        ("unknown_label", {**QUESTION, "domain": "\x1b[2J"}),
        ("repeated_interaction", {**QUESTION, "interaction_id": "line-1.0"}),
        ("repeated_session", {**QUESTION, "session_id": "line-1"}),
    ],
)
def test_a_bad_line_of_ones_own_is_named_with_its_number(tmp_path: Path, kind: str, line: Line | str) -> None:
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


def test_a_folder_of_the_world_is_known_by_its_truth(tmp_path: Path) -> None:
    world(tmp_path)
    dataset = open_dataset(str(tmp_path))
    assert dataset.conversations[0].turns[0].truth is not None
    assert open_dataset(str(tmp_path.parent), split=tmp_path.name) == dataset
    with pytest.raises(DatasetError, match="no multi-turn"):
        open_dataset(str(tmp_path), part=Part.MULTI)
    with pytest.raises(DatasetError, match="no split 'test'"):
        open_dataset(str(tmp_path), split="test")


@pytest.mark.parametrize(
    "source", ["nowhere", "/nowhere/at/all", "a/b/c", "../x/y", "owner/..", "", "https://a.example/b"]
)
def test_unknown_source_is_refused(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DatasetError, match=r"neither a file nor a folder nor a hub id|holds nothing to ask"):
        open_dataset(source)


def test_a_folder_with_nothing_readable_says_what_was_looked_for(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(DatasetError, match=r"truth\.jsonl.*questions\.jsonl.*Parquet"):
        open_dataset(str(tmp_path))
    with pytest.raises(DatasetError, match="neither a Parquet file"):
        open_dataset(str(tmp_path / "notes.txt"))


class Hub:
    """What the hub's client would do, from a folder."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.requests: list[dict[str, Any]] = []
        self.failure: Exception | None = None
        patch.setattr(huggingface_hub, "snapshot_download", self.snapshot_download)

    def snapshot_download(self, repository: str, **options: Any) -> str:
        if self.failure:
            raise self.failure
        self.requests.append({"repository": repository, **options})
        return str(self.folder)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hub:
    for split in ("validation", "public_test"):
        path = tmp_path / "hub/data" / f"{split}-00000-of-00001.parquet"
        write_parquet(path, [columns(row(split))], SINGLE_NAMES)
    return Hub(tmp_path / "hub", monkeypatch)


def from_hub(tmp_path: Path, source: str, **options: Any) -> Dataset:
    return open_dataset(source, cache=tmp_path / "cache", **options)


def test_only_the_splits_files_are_downloaded(hub: Hub, tmp_path: Path) -> None:
    dataset = from_hub(tmp_path, "crag-mm-2025/crag-mm-multi-turn-public@v0.1.2", split="public_test")
    assert dataset.name == "crag-mm-multi-turn-public@v0.1.2/public_test"
    assert dataset.conversations[0].session_id == "public_test"
    assert dataset.conversations[0].part is Part.MULTI
    (request,) = hub.requests
    assert fnmatch("data/public_test-00000-of-00001.parquet", request["allow_patterns"])
    assert not fnmatch("data/validation-00000-of-00001.parquet", request["allow_patterns"])
    assert request["revision"] == "v0.1.2"
    with pytest.raises(DatasetError, match="no Parquet files of a split 'train'"):
        from_hub(tmp_path, "owner/name", split="train")


def test_a_hub_that_cannot_be_reached_is_a_sentence(hub: Hub, tmp_path: Path) -> None:
    hub.failure = errors.LocalEntryNotFoundError("not here")
    with pytest.raises(
        DatasetError, match=r"owner/name could not be fetched: not here\. You can also give a folder"
    ):
        from_hub(tmp_path, "owner/name")


def world(folder: Path, single: int = 1, multi: Sequence[int] = ()) -> Path:
    """So many questions, and conversations of so many turns."""
    return write_world(folder, numbered(single), [numbered(turns) for turns in multi])


def test_both_parts_are_read_with_their_truth(tmp_path: Path) -> None:
    parts = open_dataset(str(world(tmp_path, 2, [3]))).conversations
    assert [each.part for each in parts] == [Part.SINGLE, Part.SINGLE, Part.MULTI]
    assert [turn.truth and turn.truth.answer_type for turn in parts[2].turns] == [AnswerType.NAME] * 3


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
def test_a_folder_that_is_not_whole_is_refused_in_a_sentence(
    tmp_path: Path, file: str, change: Callable[[bytes], bytes] | None, named: str
) -> None:
    path = world(tmp_path) / file
    content = path.read_bytes()
    path.unlink()
    if change:
        path.write_bytes(change(content))
    with pytest.raises(DatasetError, match=named):
        open_dataset(str(tmp_path))


def test_a_sample_is_the_first_ones_or_the_choice_of_a_seed() -> None:
    many = tuple(range(20))
    assert sample(many, 3, None) == many[:3]
    assert sample(many, None, 1) == many
    assert sample(many, 5, 1) == tuple(sorted(sample(many, 5, 1)))
    assert sample(many, 5, 1) != sample(many, 5, 2)
