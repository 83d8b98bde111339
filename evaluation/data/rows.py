"""Files of CRAG-MM rows to conversations: checked, chosen, and only then given their photos."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evaluation.data.checks import BadRow
from evaluation.data.crag_mm import Row, parse_row
from evaluation.data.labels import Labels
from evaluation.data.model import Conversation, Part, Rejected
from evaluation.data.photos import Photos, link_of
from evaluation.data.progress import OnProgress
from evaluation.data.tables import Table, UnreadableFile

_TOLD_EVERY = 100


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
    """What was read so far, and which ids are taken. `name`: of the dataset, which may tell its part."""

    folder: Path
    name: str
    candidates: list[Candidate] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    _sessions: set[str] = field(default_factory=set)
    _interactions: set[str] = field(default_factory=set)

    def read(self, tables: Sequence[Table], on_progress: OnProgress) -> None:
        """All rows of all files, without images. A file that cannot be read is one rejection."""
        done = 0
        for table in tables:
            try:
                labels = table.labels()
                for number, row in table.rows():
                    self._take(table, number, row, labels)
                    done += 1
                    if done % _TOLD_EVERY == 0:
                        on_progress("rows", done, 0)
            except UnreadableFile as reason:
                self.rejected.append(Rejected("unreadable_file", self._name(table), str(reason)))
        on_progress("rows", done, done)

    def _take(self, table: Table, number: int, held: Mapping[str, Any] | BadRow, labels: Labels) -> None:
        where = self._name(table)
        where += f", line {number + 1}" if table.path.suffix.lower() == ".jsonl" else f", row {number}"
        try:
            if isinstance(held, BadRow):
                raise held
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
    found: dict[int, Path | BadRow | str] = {}
    by_table: dict[int, dict[int, int]] = defaultdict(dict)
    for place, candidate in enumerate(chosen):
        by_table[id(candidate.table)][candidate.number] = place
        found[place] = candidate.row.image_url
    ticks = photos.ticks("images", len(chosen))
    for places in by_table.values():
        found.update(_embedded(chosen, places, photos, ticks))
    links = photos.linked(each for each in found.values() if isinstance(each, str) and each)
    conversations: list[Conversation] = []
    rejected: list[Rejected] = []
    for place, candidate in enumerate(chosen):
        photo = _settled(found[place], links)
        row = candidate.row
        if isinstance(photo, BadRow):
            rejected.append(Rejected(photo.kind, candidate.where, photo.why))
        else:
            conversations.append(Conversation(row.session_id, candidate.part, photo, row.turns))
    return conversations, rejected


def _embedded(
    chosen: Sequence[Candidate], places: Mapping[int, int], photos: Photos, ticks: Iterator[None]
) -> dict[int, Path | BadRow | str]:
    """What the `image` column of one file gives: a photo, a fault, or a link to follow. By place."""
    found: dict[int, Path | BadRow | str] = {}
    table = chosen[next(iter(places.values()))].table
    try:
        for number, image in table.images(places):
            next(ticks)
            place = places[number]
            link = link_of(image, chosen[place].row.image_url)
            try:
                found[place] = photos.embedded(image) or link
            except BadRow as fault:
                found[place] = link or fault
    except UnreadableFile as reason:
        for place in places.values():
            found.setdefault(place, BadRow("unreadable_image", str(reason)))
    return found


def _settled(found: Path | BadRow | str, links: Mapping[str, Path | str]) -> Path | BadRow:
    if not isinstance(found, str):
        return found
    if not found:
        return BadRow("missing_image", "There is neither an image nor an image_url.")
    photo = links[found]
    return photo if isinstance(photo, Path) else BadRow("missing_image", photo)
