"""A folder like `samples`: CRAG-MM rows (v0.1.2, a dict of columns) and the truth for our judge."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from evaluation.data.checks import BadRow, photo_inside, text
from evaluation.data.crag_mm import parse_row
from evaluation.data.labels import Labels
from evaluation.data.model import AskedTurn, Conversation, DatasetError, Part, Truth
from evaluation.data.tables import UnreadableFile, json_lines

Sampled = TypeVar("Sampled")

QUESTIONS, CONVERSATIONS, TRUTH = "questions.jsonl", "conversations.jsonl", "truth.jsonl"


@dataclass(frozen=True, slots=True)
class World:
    """Both parts of the benchmark."""

    single: tuple[Conversation, ...]
    multi: tuple[Conversation, ...]


def load_world(folder: Path) -> World:
    """Both parts, complete: nothing is found to be missing only once the questions are being asked.

    Raises `DatasetError`: a file or photo that is not there, a line that does not fit, a question without
    truth, a session that comes twice.
    """
    truths: dict[str, Truth] = {}
    for where, row in _rows(folder / TRUTH):
        try:
            truth = Truth.model_validate(row)
        except ValidationError as error:
            raise DatasetError(f"{where}: {error}") from error
        truths[truth.interaction_id] = truth
    world = World(
        single=tuple(_conversations(folder, QUESTIONS, Part.SINGLE, truths)),
        multi=tuple(_conversations(folder, CONVERSATIONS, Part.MULTI, truths)),
    )
    counts = Counter(conversation.session_id for conversation in (*world.single, *world.multi))
    twice = [session_id for session_id, count in counts.items() if count > 1]
    if twice:
        raise DatasetError(f"session {twice[0]} comes {counts[twice[0]]} times")
    return world


def truth_of(turn: AskedTurn) -> Truth:
    """Return what is true of a question. Raises `DatasetError` for one from elsewhere."""
    if turn.truth is None:
        raise DatasetError(f"Nothing is known to be true of interaction {turn.interaction_id}.")
    return turn.truth


def sample(conversations: Sequence[Sampled], limit: int | None, seed: int | None) -> tuple[Sampled, ...]:
    """At most `limit` of them: the first ones, or with a seed a random choice; always in file order."""
    if limit is None or limit >= len(conversations):
        return tuple(conversations)
    if seed is None:
        return tuple(conversations[:limit])
    chosen = random.Random(seed).sample(range(len(conversations)), limit)
    return tuple(conversations[index] for index in sorted(chosen))


def _conversations(folder: Path, name: str, part: Part, truths: dict[str, Truth]) -> Iterator[Conversation]:
    for where, row in _rows(folder / name):
        try:
            held = parse_row(row, Labels())
            photo = photo_inside(folder, text(row, "image", if_empty="missing_image"))
        except BadRow as fault:
            raise DatasetError(f"{where}: {fault.why}") from fault
        absent = [turn.interaction_id for turn in held.turns if turn.interaction_id not in truths]
        if absent:
            raise DatasetError(f"{TRUTH} has nothing on interaction {absent[0]} of {name}")
        turns = tuple(replace(turn, truth=truths[turn.interaction_id]) for turn in held.turns)
        yield Conversation(held.session_id, part, photo, turns)


def _rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        for number, row in json_lines(path):
            where = f"{path.name}, line {number + 1}"
            if isinstance(row, BadRow):
                raise DatasetError(f"{where}: {row.why}")
            yield where, row
    except UnreadableFile as error:
        raise DatasetError(f"{path.name} cannot be read in {path.parent}") from error
