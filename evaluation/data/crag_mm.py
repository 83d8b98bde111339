"""One row of CRAG-MM to a conversation: v0.1.2 (dicts of columns, label codes) and v0.1.1 (lists, words)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.data.checks import BadRow, identifier, text
from evaluation.data.labels import VOCABULARY, Labels, UnknownLabel
from evaluation.data.model import AskedTurn

COLUMNS = ("session_id", "image_url", "turns", "answers", "image_quality")
"""What is read of a row, besides `image`."""
MOST_TURNS = 100


@dataclass(frozen=True, slots=True)
class Row:
    """A row without its image. `image_url` is empty where there is none."""

    session_id: str
    image_url: str
    turns: tuple[AskedTurn, ...]


def parse_row(row: Mapping[str, Any], labels: Labels) -> Row:
    """Raises `BadRow`."""
    session_id = identifier(row, "session_id")
    records = _records(row.get("turns"), "turns")
    golds = _golds(row.get("answers"))
    turns = tuple(_turn(record, golds, row.get("image_quality"), labels) for record in records)
    if not turns:
        raise BadRow("malformed_row", "There are no turns.")
    ids = [turn.interaction_id for turn in turns]
    if len(set(ids)) != len(ids):
        raise BadRow("repeated_interaction", "Two turns have one interaction id.")
    if set(ids) != golds.keys():
        raise BadRow("unmatched_answers", "An answer belongs to no turn.")
    return Row(session_id, _url(row), turns)


def _url(row: Mapping[str, Any]) -> str:
    url = row.get("image_url")
    if url is None:
        return ""
    if not isinstance(url, str):
        raise BadRow("malformed_row", "image_url is not a text.")
    return url.strip()


def _turn(record: Mapping[str, Any], golds: Mapping[str, str], quality: object, labels: Labels) -> AskedTurn:
    """`quality`: the row's, for datasets that tell it of the photo and not of each turn."""
    interaction_id = identifier(record, "interaction_id")
    if interaction_id not in golds:
        raise BadRow("unmatched_answers", f"Turn {interaction_id} has no answer.")
    told = {"image_quality": quality, **{key: value for key, value in record.items() if value is not None}}
    try:
        words = {column: labels.word(column, told.get(column)) for column in VOCABULARY}
    except UnknownLabel as reason:
        raise BadRow("unknown_label", str(reason)) from reason
    return AskedTurn(
        interaction_id=interaction_id,
        question=text(record, "query", if_empty="empty_question"),
        gold=golds[interaction_id],
        domain=words["domain"],
        query_category=words["query_category"],
        dynamism=words["dynamism"],
        image_quality=words["image_quality"],
    )


def _golds(answers: object) -> dict[str, str]:
    golds: dict[str, str] = {}
    for record in _records(answers, "answers"):
        interaction_id = identifier(record, "interaction_id")
        if interaction_id in golds:
            raise BadRow("repeated_interaction", f"There are two answers to {interaction_id}.")
        golds[interaction_id] = text(record, "ans_full", if_empty="empty_answer")
    return golds


def _records(value: object, what: str) -> Sequence[Mapping[str, Any]]:
    """A list of dicts, whichever of the two shapes the dataset has."""
    if isinstance(value, Mapping):
        value = _from_columns(value, what)
    if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
        raise BadRow("malformed_row", f"{what} is neither a dict of columns nor a list of dicts.")
    if len(value) > MOST_TURNS:
        raise BadRow("malformed_row", f"{what} has more than {MOST_TURNS} entries.")
    return value


def _from_columns(columns: Mapping[str, Any], what: str) -> list[dict[str, Any]]:
    held = {key: column for key, column in columns.items() if column is not None}
    if not all(isinstance(column, list) for column in held.values()):
        raise BadRow("malformed_row", f"A column of {what} is not a list.")
    if len({len(column) for column in held.values()}) != 1:
        raise BadRow("malformed_row", f"The columns of {what} differ in length.")
    return [dict(zip(held, values, strict=True)) for values in zip(*held.values(), strict=True)]
