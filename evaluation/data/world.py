"""A folder like `samples`: CRAG-MM rows (v0.1.2, a dict of columns) and the truth for our judge."""

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, model_validator

from evaluation.data.model import AskedTurn, Conversation, DatasetError, Part, Truth

Sampled = TypeVar("Sampled")

QUESTIONS, CONVERSATIONS, TRUTH = "questions.jsonl", "conversations.jsonl", "truth.jsonl"


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _TurnColumns(_Line):
    interaction_id: list[str]
    domain: list[str]
    query_category: list[str]
    dynamism: list[str]
    query: list[str]
    image_quality: list[str]


class _AnswerColumns(_Line):
    interaction_id: list[str]
    ans_full: list[str]


class _Row(_Line):
    session_id: str
    image: str
    turns: _TurnColumns
    answers: _AnswerColumns

    @model_validator(mode="after")
    def _columns_agree(self) -> "_Row":
        lengths = {len(column) for _, column in self.turns} | {len(self.answers.ans_full)}
        if len(lengths) != 1 or 0 in lengths:
            raise ValueError("the columns of a row must have one length, at least 1")
        if self.turns.interaction_id != self.answers.interaction_id:
            raise ValueError("turns and answers must have the same interaction ids")
        return self


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
    truths = {truth.interaction_id: truth for truth in _lines(folder / TRUTH, Truth)}
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
    for row in _lines(folder / name, _Row):
        absent = [each for each in row.turns.interaction_id if each not in truths]
        if absent:
            raise DatasetError(f"{TRUTH} has nothing on interaction {absent[0]} of {name}")
        photo = _photo(folder, name, row.image)
        yield Conversation(row.session_id, part, photo, tuple(_turns(row, truths)))


def _photo(folder: Path, name: str, image: str) -> Path:
    """What a row names is sent to a gateway, so it lies inside the folder."""
    photo = folder / image
    try:
        is_there, is_inside = photo.is_file(), photo.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):
        is_there, is_inside = False, True
    if not is_there:
        raise DatasetError(f"{name} names a photo that is not there: {image[:200]}")
    if not is_inside:
        raise DatasetError(f"{name} names a photo outside of the folder: {image[:200]}")
    return photo


def _turns(row: _Row, truths: dict[str, Truth]) -> Iterator[AskedTurn]:
    turns = row.turns
    for index, interaction_id in enumerate(turns.interaction_id):
        yield AskedTurn(
            interaction_id=interaction_id,
            question=turns.query[index],
            gold=row.answers.ans_full[index],
            domain=turns.domain[index],
            query_category=turns.query_category[index],
            dynamism=turns.dynamism[index],
            image_quality=turns.image_quality[index],
            truth=truths[interaction_id],
        )


Line = TypeVar("Line", bound=BaseModel)


def _lines(path: Path, kind: type[Line]) -> Iterator[Line]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetError(f"{path.name} cannot be read in {path.parent}") from error
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield kind.model_validate(json.loads(line))
        except (ValueError, RecursionError) as error:  # not JSON, or not of this kind
            raise DatasetError(f"{path.name}, line {number}: {error}") from error
