"""A folder like `samples`: CRAG-MM rows (v0.1.2, a dict of columns) and the truth for our judge."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from chassis.validation import first_fault
from evaluation.data.candidates import Candidate, Candidates
from evaluation.data.checks import BadRow, text
from evaluation.data.crag_mm import parse_row
from evaluation.data.labels import Labels
from evaluation.data.model import Part, Truth

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
