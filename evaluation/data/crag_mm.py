"""CRAG-MM's rows as conversations: v0.1.2 (dicts of columns, label codes) and v0.1.1 (lists, words)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evaluation.data.checks import BadRow, identifier, text
from evaluation.data.labels import VOCABULARY, Labels, UnknownLabel
from evaluation.data.model import AskedTurn, Conversation, Part, Rejected
from evaluation.data.photos import Photos
from evaluation.data.progress import bar
from evaluation.data.tables import Table, UnreadableFile

MOST_TURNS = 100
EGOCENTRIC_SIZE = (960, 1280)
"""Width and height that the official code gives every egocentric photo, whatever its own shape."""
_KINDS = ("egocentric", "normal")


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


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row that can be asked once its photo is there; `number` is its place in `table`."""

    table: Table
    number: int
    where: str
    part: Part
    row: Row


@dataclass(slots=True)
class Reading:
    """Rows read so far, and their ids. `name`: of the dataset; it may say which part it is."""

    folder: Path
    name: str
    candidates: list[Candidate] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    _sessions: set[str] = field(default_factory=set)
    _interactions: set[str] = field(default_factory=set)

    def read(self, table: Table) -> None:
        """All rows of a file, without images. A file that cannot be read is one rejection."""
        try:
            labels = table.labels()
            for number, row in bar(table.rows(), "rows"):
                self._take(table, number, row, labels)
        except UnreadableFile as reason:
            self.rejected.append(Rejected("unreadable_file", self._name(table), str(reason)))

    def _take(self, table: Table, number: int, held: Mapping[str, Any], labels: Labels) -> None:
        where = f"{self._name(table)}, row {number}"
        try:
            row = parse_row(held, labels)
            self._claim(row)
        except BadRow as fault:
            self.rejected.append(Rejected(fault.kind, where, fault.why))
            return
        self.candidates.append(Candidate(table, number, where, self._part(table, row), row))

    def _claim(self, row: Row) -> None:
        if row.session_id in self._sessions:
            raise BadRow("repeated_session", f"Session {row.session_id} came before.")
        ids = [turn.interaction_id for turn in row.turns]
        again = next((each for each in ids if each in self._interactions), None)
        if again is not None:
            raise BadRow("repeated_interaction", f"Interaction {again} came before.")
        self._sessions.add(row.session_id)
        self._interactions.update(ids)

    def _part(self, table: Table, row: Row) -> Part:
        """As the file's or the dataset's name has it: a conversation of one turn is one, too."""
        for name in (self._name(table), self.name):
            for part in Part:
                if f"{part}-turn" in name or f"{part}_turn" in name:
                    return part
        return Part.MULTI if len(row.turns) > 1 else Part.SINGLE

    def _name(self, table: Table) -> str:
        return table.path.relative_to(self.folder).as_posix()


def with_photos(chosen: Sequence[Candidate], photos: Photos) -> tuple[list[Conversation], list[Rejected]]:
    """The conversations in their order, and those whose photo cannot be had. Raises `OSError`."""
    found: list[Path | BadRow | str] = [each.row.image_url for each in chosen]
    by_table: defaultdict[Table, dict[int, int]] = defaultdict(dict)
    for place, candidate in enumerate(chosen):
        by_table[candidate.table][candidate.number] = place
    for table, places in by_table.items():
        _take_embedded(found, table, places, photos)
    links = photos.linked(each for each in found if isinstance(each, str) and each)
    conversations: list[Conversation] = []
    rejected: list[Rejected] = []
    for origin, candidate in zip(found, chosen, strict=True):
        photo, row = _linked(origin, links) if isinstance(origin, str) else origin, candidate.row
        if isinstance(photo, Path):
            turns = tuple(replace(turn, image_kind=_KINDS[bool(row.image_url)]) for turn in row.turns)
            conversations.append(Conversation(row.session_id, candidate.part, photo, turns))
        else:
            rejected.append(Rejected(photo.kind, candidate.where, photo.why))
    return conversations, rejected


def _linked(url: str, links: Mapping[str, Path | str]) -> Path | BadRow:
    if not url:
        return BadRow("missing_image", "There is neither an image nor an image_url.")
    photo = links[url]
    return photo if isinstance(photo, Path) else BadRow("missing_image", photo)


def _take_embedded(
    found: list[Path | BadRow | str], table: Table, places: Mapping[int, int], photos: Photos
) -> None:
    """Put the photos of the file's `image` column in place of links, and faults where there is no link."""
    left = dict(places)
    try:
        for number, image in bar(table.images(places), "images", len(places)):
            place = left.pop(number)
            try:
                size = None if found[place] else EGOCENTRIC_SIZE
                found[place] = photos.embedded(image, size) or found[place]
            except BadRow as fault:
                found[place] = found[place] or fault
    except UnreadableFile as reason:
        for place in left.values():
            found[place] = BadRow("unreadable_image", str(reason))
