"""A folder of one's own: photos, and `questions.jsonl` with one question a line."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from evaluation.data.checks import LONGEST_ID, BadRow, identifier, photo_inside, text
from evaluation.data.labels import canonical
from evaluation.data.model import AskedTurn, Conversation, Part, Rejected
from evaluation.data.progress import bar
from evaluation.data.tables import json_lines

PLAIN = "questions.jsonl"


@dataclass(frozen=True, slots=True)
class _Line:
    """A question that can be read; `photo` is empty where it is the session's."""

    where: str
    photo: str
    turn: AskedTurn


@dataclass(frozen=True, slots=True)
class Session:
    """A conversation that can be asked once its photo is there, named as in the file."""

    session_id: str
    photo: str
    lines: tuple[_Line, ...]

    @property
    def part(self) -> Part:
        """By the number of its questions."""
        return Part.MULTI if len(self.lines) > 1 else Part.SINGLE


def is_plain(path: Path) -> bool:
    """Whether the first line that can be read is a question of the plain kind, and no row of CRAG-MM."""
    for _, row in json_lines(path):
        if not isinstance(row, BadRow):
            return "turns" not in row and ("question" in row or "photo" in row)
    return False


def read_plain(path: Path) -> tuple[list[Session], list[Rejected]]:
    """The questions of `{"photo", "question", "answer"?, "session_id"?, "interaction_id"?, labels?}`.

    Lines of one session are a conversation in the file's order; its photo need be named once. Raises
    `UnreadableFile`.
    """
    gathering = _Gathering()
    for number, row in json_lines(path):
        gathering.take(f"{path.name}, line {number + 1}", f"line-{number + 1}", row)
    rejected = gathering.rejected
    sessions: list[Session] = []
    for session_id, lines in gathering.sessions.items():
        try:
            if session_id in gathering.broken:
                raise BadRow("incomplete_session", f"Another line of session {session_id} cannot be asked.")
            sessions.append(_session(session_id, lines))
        except BadRow as fault:
            rejected += _rejected(fault, lines)
    return sessions, rejected


def with_photos_inside(chosen: Sequence[Session], folder: Path) -> tuple[list[Conversation], list[Rejected]]:
    """The conversations in their order, and the lines whose photo cannot be had."""
    conversations: list[Conversation] = []
    rejected: list[Rejected] = []
    find = cache(partial(_photo, folder))
    for each in bar(chosen, "photos"):
        photo = find(each.photo)
        if isinstance(photo, BadRow):
            rejected += _rejected(photo, each.lines)
        else:
            turns = tuple(line.turn for line in each.lines)
            conversations.append(Conversation(each.session_id, each.part, photo, turns))
    return conversations, rejected


def _photo(folder: Path, name: str) -> Path | BadRow:
    try:
        return photo_inside(folder, name)
    except BadRow as fault:
        return fault


def _rejected(fault: BadRow, lines: Iterable[_Line]) -> list[Rejected]:
    return [Rejected(fault.kind, line.where, fault.why) for line in lines]


@dataclass(slots=True)
class _Gathering:
    """Lines by session, `broken` the sessions with a line that cannot be asked."""

    sessions: dict[str, list[_Line]] = field(default_factory=lambda: defaultdict(list))
    rejected: list[Rejected] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    _alone: set[str] = field(default_factory=set)
    _interactions: set[str] = field(default_factory=set)

    def take(self, where: str, name: str, row: Mapping[str, Any] | BadRow) -> None:
        """`name`: the session's where the line stands alone."""
        session_id = ""
        try:
            if isinstance(row, BadRow):
                raise row
            alone = row.get("session_id") is None
            session_id = name if alone else identifier(row, "session_id")
            if session_id in self._alone or (alone and session_id in self.sessions):
                raise BadRow("repeated_session", f"Session {session_id} came before.")
            if alone:
                self._alone.add(session_id)
            line = _line(where, session_id, len(self.sessions[session_id]), row)
            if line.turn.interaction_id in self._interactions:
                raise BadRow("repeated_interaction", f"Interaction {line.turn.interaction_id} came before.")
        except BadRow as fault:
            self.rejected.append(Rejected(fault.kind, where, fault.why))
            if fault.kind != "repeated_session":
                self.broken.add(session_id)
            return
        self._interactions.add(line.turn.interaction_id)
        self.sessions[session_id].append(line)


def _line(where: str, session_id: str, place: int, fields: Mapping[str, Any]) -> _Line:
    photo = text(fields, "photo", if_empty="missing_image") if fields.get("photo") or not place else ""
    given = fields.get("interaction_id") is not None
    interaction_id = identifier(fields, "interaction_id") if given else f"{session_id}.{place}"
    turn = AskedTurn(
        interaction_id=interaction_id,
        question=text(fields, "question", if_empty="empty_question"),
        gold=text(fields, "answer", if_empty="malformed_row") if fields.get("answer") else "",
        domain=_label("domain", fields),
        query_category=_label("query_category", fields),
        dynamism=_label("dynamism", fields),
        image_quality=_label("image_quality", fields),
    )
    return _Line(where, photo, turn)


def _label(column: str, fields: Mapping[str, Any]) -> str:
    """Any short word: the folder's owner may slice by words of their own."""
    value = fields.get(column)
    if value is None:
        return ""
    if not isinstance(value, str) or len(value) > LONGEST_ID or not value.isprintable():
        raise BadRow("unknown_label", f"{column} is not a word.")
    return canonical(column, value) or value.strip()


def _session(session_id: str, lines: Sequence[_Line]) -> Session:
    named = {line.photo for line in lines if line.photo}
    if len(named) != 1:
        raise BadRow("malformed_row", f"Session {session_id} names more than one photo.")
    return Session(session_id, named.pop(), tuple(lines))
