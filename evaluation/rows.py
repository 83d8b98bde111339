"""Reads a folder of questions: CRAG-MM rows (v0.1.2, a dict of columns) and the truth for our judge."""

import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

QUESTIONS, CONVERSATIONS, TRUTH = "questions.jsonl", "conversations.jsonl", "truth.jsonl"


class WorldError(Exception):
    """The folder does not hold what it should; the message names the file and the line."""


class AnswerType(StrEnum):
    """How an answer is compared with the truth."""

    NUMBER = "number"
    DATE = "date"
    NAME = "name"
    SET = "set"
    BOOLEAN = "boolean"
    TEXT = "text"
    UNANSWERABLE = "unanswerable"


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Truth(_Line):
    """What is true of one question. `contrast`: wrong candidates that a right answer may also mention;
    `must_not`: what no right answer asserts; `needs`: where the answer can be found.
    """

    interaction_id: str
    answer_type: AnswerType
    accepted: tuple[str, ...] = ()
    must_not: tuple[str, ...] = ()
    contrast: tuple[str, ...] = ()
    value: bool | int | float | str | list[str] | None = None
    unit: str | None = None
    entity: str = ""
    needs: str = ""


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
class AskedTurn:
    """One question with its labels and its truth."""

    interaction_id: str
    question: str
    gold: str
    domain: str
    query_category: str
    dynamism: str
    image_quality: str
    truth: Truth

    @property
    def answerable(self) -> bool:
        """Whether anything but a refusal can be right."""
        return self.truth.answer_type is not AnswerType.UNANSWERABLE


@dataclass(frozen=True, slots=True)
class Conversation:
    """A photo and the questions asked about it; a single question is a conversation of one turn."""

    session_id: str
    photo: Path
    turns: tuple[AskedTurn, ...]


@dataclass(frozen=True, slots=True)
class World:
    """Both parts of the benchmark."""

    single: tuple[Conversation, ...]
    multi: tuple[Conversation, ...]


def load_world(folder: Path) -> World:
    """Both parts, complete: nothing is found to be missing only once the questions are being asked.

    Raises `WorldError`: a file or photo that is not there, a line that does not fit, a question without
    truth, a session that comes twice.
    """
    truths = {truth.interaction_id: truth for truth in _lines(folder / TRUTH, Truth)}
    world = World(
        single=tuple(_conversations(folder, QUESTIONS, truths)),
        multi=tuple(_conversations(folder, CONVERSATIONS, truths)),
    )
    counts = Counter(conversation.session_id for conversation in (*world.single, *world.multi))
    twice = [session_id for session_id, count in counts.items() if count > 1]
    if twice:
        raise WorldError(f"session {twice[0]} comes {counts[twice[0]]} times")
    return world


def sample(
    conversations: Sequence[Conversation], limit: int | None, seed: int | None
) -> tuple[Conversation, ...]:
    """At most `limit` of them: the first ones, or with a seed a random choice; always in file order."""
    if limit is None or limit >= len(conversations):
        return tuple(conversations)
    if seed is None:
        return tuple(conversations[:limit])
    chosen = random.Random(seed).sample(range(len(conversations)), limit)
    return tuple(conversations[index] for index in sorted(chosen))


def _conversations(folder: Path, name: str, truths: dict[str, Truth]) -> Iterator[Conversation]:
    for row in _lines(folder / name, _Row):
        absent = [each for each in row.turns.interaction_id if each not in truths]
        if absent:
            raise WorldError(f"{TRUTH} has nothing on interaction {absent[0]} of {name}")
        photo = folder / row.image
        if not photo.is_file():
            raise WorldError(f"{name} names a photo that is not there: {row.image}")
        yield Conversation(row.session_id, photo, tuple(_turns(row, truths)))


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


Line = TypeVar("Line", bound=_Line)


def _lines(path: Path, kind: type[Line]) -> Iterator[Line]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise WorldError(f"{path.name} cannot be read in {path.parent}") from error
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield kind.model_validate(json.loads(line))
        except (ValidationError, json.JSONDecodeError) as error:
            raise WorldError(f"{path.name}, line {number}: {error}") from error
