"""Conversations as a file has them, before their photos are looked for, and the rows that cannot be asked."""

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from evaluation.data.checks import BadRow
from evaluation.data.model import AskedTurn, Part, Rejected
from evaluation.data.tables import json_lines

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
        """A `BadRow` inside rejects these rows."""
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
    """At most `limit` of them: the first ones, or with a seed a random choice; always in file order."""
    if limit is None or limit >= len(conversations):
        return tuple(conversations)
    if seed is None:
        return tuple(conversations[:limit])
    chosen = random.Random(seed).sample(range(len(conversations)), limit)
    return tuple(conversations[index] for index in sorted(chosen))
