"""A run on disk: whole lines, one process at a time, one dataset."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from evaluation.data.model import Rejected
from evaluation.record import RunHeader, TurnRecord
from evaluation.runs.store import TURNS, RunError, RunStore, load_run
from loreglass_client.models import Answer, Explanation
from tests.unit.evaluation.records import answered, turn_of

HEADER = RunHeader(name="loreglass", dataset="made up", fingerprint="f", settings={"explain": True})


def record(number: int, answer: Answer | None = None, **changes: Any) -> TurnRecord:
    question = "what is this?\nline\u2028separators \U0001f600 stay"
    fields = {"place": number, "photo": "/elsewhere/photo.jpg", "question": question, "error": None}
    return turn_of(f"i{number}", answer, **fields | changes)


def written(folder: Path, count: int = 3) -> bytes:
    with RunStore(folder, HEADER) as store:
        for number in range(count):
            store.add(record(number))
            assert len(load_run(folder).records) == number + 1  # also if the process is killed now
    return (folder / TURNS).read_bytes()


def test_complete_turns_survive_any_interruption(tmp_path: Path) -> None:
    data = written(tmp_path)
    lines = data.split(b"\n")
    for length in range(0, len(data), 7):
        (tmp_path / TURNS).write_bytes(data[:length])
        with RunStore(tmp_path, HEADER) as store:
            records = list(store.records)
        assert records == [record(number) for number in range(data[:length].count(b"\n"))]
        assert (tmp_path / TURNS).read_bytes() == b"".join(line + b"\n" for line in lines[: len(records)])


def test_zero_filled_last_line_is_cut_off(tmp_path: Path) -> None:
    data = written(tmp_path)
    (tmp_path / TURNS).write_bytes(data + b"\x00" * 40 + b"\n")
    with RunStore(tmp_path, HEADER) as store:
        store.add(record(3))
    assert len(load_run(tmp_path).records) == 4


def test_invalid_line_in_the_middle_is_reported(tmp_path: Path) -> None:
    lines = written(tmp_path).split(b"\n")
    lines[1] = b"{}"
    (tmp_path / TURNS).write_bytes(b"\n".join(lines))
    with pytest.raises(RunError, match=r"turns\.jsonl, line 2"):
        load_run(tmp_path)


def test_duplicate_question_is_reported(tmp_path: Path) -> None:
    data = written(tmp_path)
    (tmp_path / TURNS).write_bytes(data + data)
    with pytest.raises(RunError, match="line 4: the question of line 1"):
        RunStore(tmp_path, HEADER)


def test_run_is_locked_by_one_process(tmp_path: Path) -> None:
    with RunStore(tmp_path, HEADER):
        with pytest.raises(RunError, match="in use"):
            RunStore(tmp_path, HEADER)
        assert load_run(tmp_path).header == HEADER
    RunStore(tmp_path, HEADER).close()


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"fingerprint": "g"}, "another dataset, part, limit or seed"),
        ({"pipeline": "cot"}, "pipeline left to the gateway"),
        ({"thresholds": {"supported": 0.1}}, "other thresholds"),
        ({"deadline_ms": 900}, "another deadline"),
    ],
)
def test_different_run_is_not_continued(tmp_path: Path, changes: dict[str, object], named: str) -> None:
    written(tmp_path)
    with pytest.raises(RunError, match=named):
        RunStore(tmp_path, HEADER.model_copy(update=changes))
    RunStore(tmp_path, HEADER).close()  # and the folder is free again


def test_empty_run_can_change_its_settings(tmp_path: Path) -> None:
    rejected = (Rejected("missing_image", "row 3", "404"), Rejected("malformed_row", "row 9", "no\nquery"))
    RunStore(tmp_path, HEADER, rejected).close()
    assert load_run(tmp_path).rejected == rejected
    RunStore(tmp_path, HEADER.model_copy(update={"thresholds": {"supported": 0.1}})).close()
    run = load_run(tmp_path)
    assert run.header.thresholds == {"supported": 0.1}
    assert run.rejected == ()


def test_foreign_lines_in_the_folder_are_not_changed(tmp_path: Path) -> None:
    (tmp_path / TURNS).write_text('{"theirs": 1}\n')
    with pytest.raises(RunError, match="choose another folder"):
        RunStore(tmp_path, HEADER)
    assert (tmp_path / TURNS).read_text() == '{"theirs": 1}\n'


def test_partial_line_of_a_full_disk_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, line: bytes) -> int:
        monkeypatch.undo()  # the first half fits
        os.write(descriptor, line[:40])
        raise OSError(errno.ENOSPC, "No space left on device")

    with RunStore(tmp_path, HEADER) as store:
        store.add(record(0))
        monkeypatch.setattr("evaluation.runs.store.os.write", full)
        with pytest.raises(OSError, match="No space"):
            store.add(record(1))
        store.add(record(2))
    assert load_run(tmp_path).records == (record(0), record(2))


def test_a_folder_without_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"no run\.json"):
        load_run(tmp_path)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(RunError, match=r"run\.json cannot be read"):
        load_run(tmp_path)


def test_photo_paths_in_the_run_are_relative(tmp_path: Path) -> None:
    with RunStore(tmp_path, HEADER) as store:
        store.add(record(0, photo=str(tmp_path.resolve() / "photos" / "a.jpg")))
        store.add(record(1))
    run = load_run(tmp_path)
    assert [each.photo for each in run.records] == ["photos/a.jpg", "/elsewhere/photo.jpg"]
    assert run.photo(run.records[1]) == Path("/elsewhere/photo.jpg")


def test_a_run_is_explained_only_if_every_answer_is(tmp_path: Path) -> None:
    answer = answered("a")
    explained = answer.model_copy(update={"explanation": Explanation(proposed="a")})
    with RunStore(tmp_path, HEADER) as store:
        store.add(record(0, explained))
        store.add(record(1, error="overloaded"))
        assert load_run(tmp_path).header.explained
        store.add(record(2, answer))
        assert not load_run(tmp_path).header.explained


def test_run_that_cannot_be_written_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be made"):
        RunStore(tmp_path / "file" / "run", HEADER)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("chassis.files.os.fsync", full)
    with pytest.raises(RunError, match=r"rejected\.jsonl cannot be written: No space left"):
        RunStore(tmp_path, HEADER)
