"""A run on disk: `run.json`, `turns.jsonl` (one line a turn), `rejected.jsonl`, `verdicts/`.

A turn is safe once `add` returns: its line is written and flushed to the disk. A process that is killed while
it writes leaves half a line, which is cut off when the run is opened again: its question is asked again.
"""

import fcntl
import json
import os
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from chassis.files import replace_text
from chassis.validation import first_fault
from evaluation.data.model import EvaluationError, Rejected
from evaluation.record import RunHeader, TurnRecord

HEADER, TURNS, REJECTED, LOCK = "run.json", "turns.jsonl", "rejected.jsonl", "lock"


class RunError(EvaluationError):
    """The folder has no run, a run in use, or another run; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run as it is on disk. `records` are in the dataset's order, whatever was answered first."""

    header: RunHeader
    records: tuple[TurnRecord, ...]
    folder: Path
    rejected: tuple[Rejected, ...] = ()

    def photo(self, record: TurnRecord) -> Path:
        """Return where the record's photo lies."""
        return self.folder / record.photo

    @property
    def failures(self) -> dict[str, int]:
        """Return how many requests failed, by the kind of their error."""
        return dict(sorted(Counter(record.error for record in self.records if record.error).items()))


def load_run(folder: Path) -> Run:
    """Load the run of that folder, which may be incomplete or in progress.

    Raises `RunError`.
    """
    header = _header(folder)
    records, _ = _records(folder)
    answers = [record.answer for record in records if record.answer]
    explained = bool(answers) and all(answer.explanation for answer in answers)
    header = header.model_copy(update={"explained": explained})
    return Run(header, tuple(sorted(records, key=_order)), folder, _read_rejected(folder))


class RunStore:
    """Stores a run in progress. A context manager that locks the folder until it is closed."""

    def __init__(self, folder: Path, header: RunHeader, rejected: Sequence[Rejected] = ()) -> None:
        """Open the run in that folder if it asks the same questions in the same way, else begin a new one.

        Half a line is cut off. Raises `RunError`, also where the folder has answers to something else, or
        another process makes this run.
        """
        self.folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"{folder} cannot be made: {error.strerror}.") from error
        with ExitStack() as files:
            files.callback(os.close, _lock(folder))
            is_new, turns = not (folder / HEADER).exists(), folder / TURNS
            if is_new and turns.exists() and turns.stat().st_size > 0:
                raise RunError(f"{folder} holds a {TURNS} of its own: choose another folder.")
            self.header = header if is_new else _header(folder)
            self.records, self._length = _records(folder)
            different = _differences(self.header, header)
            if different and self.records:
                raise RunError(f"{folder} holds a run with {' and '.join(different)}: choose another folder.")
            self._turns = os.open(turns, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            files.callback(os.close, self._turns)
            os.ftruncate(self._turns, self._length)
            if is_new or different:
                lines = "".join(json.dumps(asdict(row)) + "\n" for row in rejected)
                write_whole(folder / REJECTED, lines)
                self.header = header
                self.rewrite_header()  # last: now there is a run
            self._files = files.pop_all()

    def add(self, record: TurnRecord) -> None:
        """Store a turn on disk before returning. A photo inside the folder gets a relative path."""
        photo, folder = Path(record.photo), self.folder.resolve()
        if photo.is_relative_to(folder):
            record = record.model_copy(update={"photo": photo.relative_to(folder).as_posix()})
        line = (record.model_dump_json(exclude_defaults=True) + "\n").encode()
        left = line
        try:
            while left:
                left = left[os.write(self._turns, left) :]
            os.fsync(self._turns)
        except OSError:
            os.ftruncate(self._turns, self._length)  # half a line must not have a whole one after it
            raise
        self._length += len(line)
        self.records.append(record)

    def rewrite_header(self, **changes: Any) -> None:
        """Store the changed header."""
        self.header = self.header.model_copy(update=changes)
        write_whole(self.folder / HEADER, self.header.model_dump_json(indent=2) + "\n")

    def close(self) -> None:
        """Release the folder."""
        self._files.close()

    def __enter__(self) -> "RunStore":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _order(record: TurnRecord) -> tuple[int, str, str, int]:
    return record.place, record.part.value, record.session_id, record.turn


def _differences(stored: RunHeader, new: RunHeader) -> list[str]:
    """Return a description of the differences; the gateway's URL may differ."""
    differs = {
        "other questions (another dataset, part, limit or seed)": stored.fingerprint != new.fingerprint,
        f"pipeline {stored.pipeline or 'left to the gateway'}": stored.pipeline != new.pipeline,
        "other thresholds": stored.thresholds != new.thresholds,
        "other modules left out": stored.without != new.without,
        "another deadline": stored.deadline_ms != new.deadline_ms,
        "another choice about the model's calls": stored.settings.get("model_calls", False)
        != new.settings.get("model_calls", False),
    }
    return [words for words, differ in differs.items() if differ]


def _lock(folder: Path) -> int:
    """Return a descriptor that holds the lock. The system releases it when the process ends."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise RunError(f"{folder} cannot be written to: {error.strerror}.") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise RunError(f"{folder} is in use: another process is making this run.") from error
    return descriptor


def _header(folder: Path) -> RunHeader:
    path = folder / HEADER
    try:
        return RunHeader.model_validate_json(path.read_bytes())
    except OSError as error:
        raise RunError(f"{folder} holds no run: there is no {HEADER}.") from error
    except ValidationError as error:
        raise RunError(f"{path} cannot be read: {first_fault(error)}.") from error


def _records(folder: Path) -> tuple[list[TurnRecord], int]:
    """Return the complete turns and their number of bytes."""
    path = folder / TURNS
    data = path.read_bytes() if path.exists() else b""
    records: list[TurnRecord] = []
    seen: dict[str, int] = {}
    length = 0
    lines = data.split(b"\n")
    for number, line in enumerate(lines[:-1], 1):
        try:
            record = TurnRecord.model_validate_json(line)
        except ValidationError as error:
            if number == len(lines) - 1 and lines[-1] == b"":
                break  # torn as well: the disk had the line's length, but not yet what is in it
            raise RunError(
                f"{path}, line {number}: {first_fault(error)}. Without that line its question is asked again."
            ) from error
        if record.interaction_id in seen:
            first = seen[record.interaction_id]
            raise RunError(f"{path}, line {number}: the question of line {first} comes again.")
        seen[record.interaction_id] = number
        records.append(record)
        length += len(line) + 1
    return records, length


def _read_rejected(folder: Path) -> tuple[Rejected, ...]:
    path = folder / REJECTED
    rows = TypeAdapter(Rejected)
    try:
        return tuple(map(rows.validate_json, path.read_bytes().splitlines() if path.exists() else ()))
    except ValidationError as error:
        raise RunError(f"{path} cannot be read: {first_fault(error)}.") from error


def write_whole(path: Path, text: str) -> None:
    """Write a file atomically. Raises `RunError`."""
    try:
        replace_text(path, text)
    except OSError as error:
        raise RunError(f"{path} cannot be written: {error.strerror}.") from error
