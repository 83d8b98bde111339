"""Rows of any data set: conversations before their photos are looked for, checks, and bad rows."""

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from chassis.images import ImageLimits
from chassis.picture_cache import NotAPicture, picture_suffix
from evaluation.data.model import AskedTurn, Part, Rejected

Photo = TypeVar("Photo")
Sampled = TypeVar("Sampled")


@dataclass(frozen=True, slots=True)
class Candidate(Generic[Photo]):
    """A conversation. `photo`: how its file names the photo; `places`: its rows in the file."""

    session_id: str
    part: Part
    photo: Photo
    turns: tuple[AskedTurn, ...]
    places: tuple[str, ...]


@dataclass(slots=True)
class Candidates(Generic[Photo]):
    """The conversations of a data set in its order, and its bad rows."""

    good: list[Candidate[Photo]] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    _sessions: set[str] = field(default_factory=set)
    _interactions: set[str] = field(default_factory=set)

    def lines(self, path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the place and the object of each line of JSONL. Raises `UnreadableFile`."""
        for number, row in json_lines(path):
            place = f"{path.name}, line {number + 1}"
            if isinstance(row, BadRow):
                self.rejected.append(Rejected(row.kind, place, row.why))
            else:
                yield place, row

    @contextmanager
    def rejecting(self, *places: str) -> Iterator[None]:
        """Reject these rows if a `BadRow` is raised inside."""
        try:
            yield
        except BadRow as fault:
            self.rejected += [Rejected(fault.kind, place, fault.why) for place in places]

    def add(self, candidate: Candidate[Photo]) -> None:
        """Raises `BadRow` where one of its ids came before."""
        ids = [turn.interaction_id for turn in candidate.turns]
        for place, each in enumerate(ids):
            if each in self._interactions or each in ids[:place]:
                raise BadRow("repeated_interaction", f"Interaction {each} came before.")
        if candidate.session_id in self._sessions:
            raise BadRow("repeated_session", f"Session {candidate.session_id} came before.")
        self._sessions.add(candidate.session_id)
        self._interactions.update(ids)
        self.good.append(candidate)


def sample(conversations: Sequence[Sampled], limit: int | None, seed: int | None) -> tuple[Sampled, ...]:
    """Return at most `limit` items: the first ones or, with a seed, a random choice; always in file order."""
    if limit is None or limit >= len(conversations):
        return tuple(conversations)
    if seed is None:
        return tuple(conversations[:limit])
    chosen = random.Random(seed).sample(range(len(conversations)), limit)
    return tuple(conversations[index] for index in sorted(chosen))


LONGEST_ID = 256
LONGEST_LINE = 8 * 2**20
"""Bytes of one line of JSONL."""
LONGEST_TEXT = 20_000
"""Characters of a question or an answer; CRAG-MM's longest have some hundreds."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_UNSENDABLE = re.compile(r"[\x00\ud800-\udfff]")


class BadRow(Exception):
    """The reason to reject a row. `kind` as in `Rejected`."""

    def __init__(self, kind: str, why: str) -> None:
        """`why`: a sentence."""
        super().__init__(why)
        self.kind = kind
        self.why = why


def identifier(row: Mapping[str, Any], key: str) -> str:
    """Return a non-empty, printable id. Raises `BadRow`."""
    value = row.get(key)
    if not isinstance(value, str) or not value:
        raise BadRow("malformed_row", f"{key} is missing, or is not a text.")
    if len(value) > LONGEST_ID or _CONTROL.search(value):
        raise BadRow("malformed_row", f"{key} is no id: too long, or with control characters.")
    return value


def text(row: Mapping[str, Any], key: str, *, if_empty: str) -> str:
    """Return a text unchanged; `if_empty` is the kind of the rejection of an empty one. Raises `BadRow`."""
    value = row.get(key)
    if value is not None and not isinstance(value, str):
        raise BadRow("malformed_row", f"{key} is not a text.")
    if value is None or not value.strip():
        raise BadRow(if_empty, f"{key} is missing or empty.")
    if len(value) > LONGEST_TEXT:
        raise BadRow("malformed_row", f"{key} is longer than {LONGEST_TEXT:,} characters.")
    if _UNSENDABLE.search(value):
        raise BadRow("malformed_row", f"{key} holds characters that cannot be sent.")
    return value


def photo_inside(folder: Path, name: str) -> Path:
    """Return the photo of a row, which must be inside `folder`, also through links. Raises `BadRow`."""
    try:
        path = folder / name
        real = path.resolve()
        if not real.is_relative_to(folder.resolve()):
            raise BadRow("malformed_row", "The photo's path leads out of the folder.")
        if not real.is_file():
            raise BadRow("missing_image", f"There is no photo {name[:100]!r}.")
        if real.stat().st_size > ImageLimits().max_bytes:
            raise BadRow(
                "unreadable_image", f"The image is larger than {ImageLimits().max_bytes // 2**20} MiB."
            )
        picture_suffix(real.read_bytes())
    except NotAPicture as reason:
        raise BadRow("unreadable_image", str(reason)) from reason
    except (OSError, ValueError, RuntimeError) as error:
        raise BadRow("missing_image", "The photo's path cannot be opened.") from error
    return path


class UnreadableFile(Exception):
    """A file as a whole cannot be read; the message says why, in one sentence."""


def json_lines(path: Path) -> Iterator[tuple[int, Mapping[str, Any] | BadRow]]:
    """Yield the objects of a JSONL file; empty lines count, but have no object.

    Raises `UnreadableFile`.
    """
    try:
        with path.open("rb") as stream:
            number = 0
            while line := stream.readline(LONGEST_LINE + 1):
                if len(line) > LONGEST_LINE:
                    while line and not line.endswith(b"\n"):
                        line = stream.readline(LONGEST_LINE)
                    yield number, BadRow("malformed_row", f"It is longer than {LONGEST_LINE // 2**20} MiB.")
                elif line.strip():
                    yield number, _parse(line)
                number += 1
    except OSError as error:
        raise UnreadableFile(f"{path.name} cannot be read ({error.strerror}).") from error


def _parse(line: bytes) -> Mapping[str, Any] | BadRow:
    try:
        row = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return BadRow("malformed_row", "The line is not JSON.")
    return row if isinstance(row, dict) else BadRow("malformed_row", "The line is not a JSON object.")
