"""A folder like `samples`: CRAG-MM rows (v0.1.2, a dict of columns) and the truth for our judge."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from chassis.validation import first_fault
from evaluation.data.crag_mm import parse_row
from evaluation.data.model import AskedTurn, Part, Truth
from evaluation.data.rows import LONGEST_ID, BadRow, Candidate, Candidates, identifier, json_lines, text
from evaluation.data.tables import VOCABULARY, Labels, canonical

TRUTH = "truth.jsonl"
_PARTS = {"questions.jsonl": Part.SINGLE, "conversations.jsonl": Part.MULTI}


def read_world(folder: Path) -> Candidates[str]:
    """Return both parts; each question must have a truth. Raises `UnreadableFile`."""
    rows = Candidates[str]()
    truths: dict[str, Truth] = {}
    for place, row in rows.lines(folder / TRUTH):
        with rows.rejecting(place):
            truth = _truth(row)
            truths[truth.interaction_id] = truth
    for name, part in _PARTS.items():
        for place, row in rows.lines(folder / name):
            with rows.rejecting(place):
                rows.add(_candidate(row, part, place, truths))
    return rows


def _truth(row: Mapping[str, Any]) -> Truth:
    try:
        return Truth.model_validate(row)
    except ValidationError as error:
        raise BadRow("malformed_row", f"{first_fault(error)}.") from error


def _candidate(row: Mapping[str, Any], part: Part, place: str, truths: Mapping[str, Truth]) -> Candidate[str]:
    session_id, turns = parse_row(row, Labels())
    photo = text(row, "image", if_empty="missing_image")
    for turn in turns:
        if turn.interaction_id not in truths:
            raise BadRow("unmatched_answers", f"{TRUTH} has nothing on interaction {turn.interaction_id}.")
    known = tuple(replace(turn, truth=truths[turn.interaction_id]) for turn in turns)
    return Candidate(session_id, part, photo, known, (place,))


PLAIN = "questions.jsonl"

_Line = tuple[str, Mapping[str, Any]]


def is_plain(path: Path) -> bool:
    """Return whether the first readable line is a plain question and not a row of CRAG-MM."""
    for _, row in json_lines(path):
        if not isinstance(row, BadRow):
            return "turns" not in row and ("question" in row or "photo" in row)
    return False


def read_plain(path: Path) -> Candidates[str]:
    """Read lines of `{"photo", "question", "answer"?, "session_id"?, "interaction_id"?, labels?}`.

    Lines of one session are a conversation in the file's order; its photo need be named once. Raises
    `UnreadableFile`.
    """
    rows = Candidates[str]()
    sessions: defaultdict[str, list[_Line]] = defaultdict(list)
    single: set[str] = set()
    for place, row in rows.lines(path):
        with rows.rejecting(place):
            alone = row.get("session_id") is None
            session_id = f"line-{place.split()[-1]}" if alone else identifier(row, "session_id")
            if session_id in single or (alone and session_id in sessions):
                raise BadRow("repeated_session", f"Session {session_id} came before.")
            if alone:
                single.add(session_id)
            sessions[session_id].append((place, row))
    for session_id, lines in sessions.items():
        _add_session(rows, session_id, lines)
    return rows


def _add_session(rows: Candidates[str], session_id: str, lines: Sequence[_Line]) -> None:
    turns: dict[str, AskedTurn] = {}
    photos: set[str] = set()
    for number, (place, row) in enumerate(lines):
        with rows.rejecting(place):
            if row.get("photo") or number == 0:
                photos.add(text(row, "photo", if_empty="missing_image"))
            turns[place] = _turn(f"{session_id}.{number}", row)
    with rows.rejecting(*turns):
        if len(turns) < len(lines):
            raise BadRow("incomplete_session", f"Another line of session {session_id} cannot be asked.")
        if len(photos) > 1:
            raise BadRow("malformed_row", f"Session {session_id} names more than one photo.")
        part = Part.MULTI if len(turns) > 1 else Part.SINGLE
        rows.add(Candidate(session_id, part, photos.pop(), tuple(turns.values()), tuple(turns)))


def _turn(name: str, row: Mapping[str, Any]) -> AskedTurn:
    labels: dict[str, Any] = {column: _label(column, row) for column in VOCABULARY}
    return AskedTurn(
        interaction_id=name if row.get("interaction_id") is None else identifier(row, "interaction_id"),
        question=text(row, "question", if_empty="empty_question"),
        gold=text(row, "answer", if_empty="malformed_row") if row.get("answer") else "",
        **labels,
    )


def _label(column: str, row: Mapping[str, Any]) -> str:
    """Return a label: any short word, because a folder can have its own labels."""
    value = row.get(column)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > LONGEST_ID or not value.isprintable():
        raise BadRow("unknown_label", f"{column} is not a word.")
    return canonical(column, value) or value.strip()
