"""Training data: a folder with photos and a file of JSON lines for each task.

    FOLDER/data.json        how it was made, and counts
    FOLDER/<task>.jsonl     a sample a line, in a stable order
    FOLDER/photos/*.jpg     named by what they hold
    FOLDER/rejected.jsonl   rows that are left out, with the reason

Every kind of training reads this format: the vision-language model's tasks, the questions of GRPO, and the
heads of the routers and of the reranker's coarse stage.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, field_validator

from chassis.files import replace_text
from chassis.validation import first_fault

REJECTED, INDEX = "rejected.jsonl", "data.json"
MOST_TEXT = 200_000
"""Characters of one text. Rows with longer texts are rejected."""
HELD_OUT_SHARE = 0.2
"""BlackPearl, section 2.3: 8:2, by image."""


class UnreadableData(Exception):
    """The folder holds no training data; the message says which, and what to do."""


class Task(StrEnum):
    """The task of a sample. Each task has its own file."""

    QUERY = "query"
    RERANK = "rerank"
    ANSWER = "answer"
    FILTER = "filter"
    QUESTION = "question"
    DOMAIN = "domain"
    DRAFT = "draft"
    PASSAGES = "passages"


class Part(StrEnum):
    """`held_out` is used for measuring only. All samples about one photo are in the same part."""

    TRAIN = "train"
    HELD_OUT = "held_out"


class Label(StrEnum):
    """The source of a conversation's label.

    `own`: the base model's own reply, which a judge found right; `augmented`: a judge model's rewording of
    the gold, which was verified; `refusal`: "I don't know", where the base model was wrong; `gold`: the data
    set's answer, where the base model was wrong; `judged`: from a judge's marks.
    """

    OWN = "own"
    AUGMENTED = "augmented"
    REFUSAL = "refusal"
    GOLD = "gold"
    JUDGED = "judged"


class Wrong(StrEnum):
    """The label where the base model was wrong or refused: see `Label`; `drop`: no sample."""

    REFUSAL = "refusal"
    GOLD = "gold"
    DROP = "drop"


class Row(BaseModel):
    """Frozen; fields that a newer version adds are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


Text = Annotated[str, Field(max_length=MOST_TEXT)]


class Origin(Row):
    """The turn from which a sample was made. `run`: the evaluation run's folder name, or the data set's name.

    `interaction_id`, `session_id`, `turn` (from 0): as in the run's records.
    """

    run: str
    interaction_id: str
    session_id: str
    turn: int = 0


class Sample(Row):
    """`id`: depends on the sources only. `photo`: a path below the folder, or empty."""

    id: str = Field(min_length=1)
    task: Task
    part: Part
    origin: Origin
    photo: str = ""

    @field_validator("photo")
    @classmethod
    def _below_the_folder(cls, photo: str) -> str:
        place = PurePosixPath(photo)
        if place.is_absolute() or ".." in place.parts:
            raise ValueError("the photo does not lie below the folder")
        return photo


class Piece(Row):
    """A part of a message: text, or the place of the sample's photo."""

    type: Literal["text", "image"]
    text: Text = ""


class Message(Row):
    """A message in the form that TRL and chat templates take."""

    role: Literal["system", "user", "assistant"]
    content: tuple[Piece, ...]


class ConversationSample(Sample):
    """The messages that the model was shown, and what it should write (`label`).

    `gold` and `question` are what a scorer needs; `source`: see `Label`. `reply`: what the base model wrote.
    """

    task: Literal[Task.QUERY, Task.RERANK, Task.ANSWER, Task.FILTER]
    messages: tuple[Message, ...] = Field(min_length=1)
    label: Text = Field(min_length=1)
    source: Label
    question: Text
    gold: Text = ""
    truth: dict[str, Any] | None = None
    reply: Text = ""

    @field_validator("messages")
    @classmethod
    def _ends_with_the_user(cls, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        if messages[-1].role != "user":
            raise ValueError("the last message is not the user's")
        return messages


class QuestionSample(Sample):
    """A question to roll out for GRPO. `history`: earlier questions with their answers.

    `article`: where the answer is, an address or a title; `accepted`: other spellings that are right too.
    """

    task: Literal[Task.QUESTION]
    question: Text = Field(min_length=1)
    history: tuple[tuple[Text, Text], ...] = ()
    gold: Text = Field(min_length=1)
    accepted: tuple[Text, ...] = ()
    truth: dict[str, Any] | None = None
    article: str = ""


class DomainSample(Sample):
    """A question and the name of its domain in the contract."""

    task: Literal[Task.DOMAIN]
    question: Text = Field(min_length=1)
    domain: str


class DraftSample(Sample):
    """A draft's features by name, and whether a judge says that it is right."""

    task: Literal[Task.DRAFT]
    features: dict[str, float]
    right: bool
    system: str = ""
    judge: str = ""


class PassagesSample(Sample):
    """A question, a passage that answers it, and passages that do not."""

    task: Literal[Task.PASSAGES]
    question: Text = Field(min_length=1)
    positive: Text = Field(min_length=1)
    negatives: tuple[Text, ...] = ()


CONVERSATIONS = frozenset({Task.QUERY, Task.RERANK, Task.ANSWER, Task.FILTER})
"""Tasks of the vision-language model, whose samples are `ConversationSample`s."""

_SAMPLE: TypeAdapter[Any] = TypeAdapter(
    Annotated[
        ConversationSample | QuestionSample | DomainSample | DraftSample | PassagesSample,
        Field(discriminator="task"),
    ]
)


class RejectedRow(Row):
    """A row that is left out. `where`: file and line, or run and interaction; `why`: a sentence."""

    where: str
    why: str


Kind = TypeVar("Kind", bound=Sample)


@dataclass(frozen=True, slots=True)
class Reading(Generic[Kind]):
    """The samples of one task, in the file's order, and the invalid rows."""

    folder: Path
    samples: tuple[Kind, ...]
    rejected: tuple[RejectedRow, ...] = ()

    def part(self, part: Part) -> tuple[Kind, ...]:
        return tuple(sample for sample in self.samples if sample.part is part)

    def photo(self, sample: Sample) -> Path | None:
        return self.folder / sample.photo if sample.photo else None


def digest(*parts: str) -> str:
    """Return a sample's `id`: 16 hexadecimal digits that depend on its sources."""
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:16]


def part_of(key: str, seed: int = 0, held_out: float = HELD_OUT_SHARE) -> Part:
    """Return the part of all samples about one photo (`key`: its digest, or the session's id without one).

    It depends on the key alone, so a photo stays in its part when other runs are added.
    """
    number = int.from_bytes(hashlib.sha256(f"{seed}\x1f{key}".encode()).digest()[:8], "big")
    return Part.HELD_OUT if number < held_out * 2**64 else Part.TRAIN


def read_samples(folder: Path, task: Task) -> Reading[Any]:
    """Return all samples of a task, and each invalid row with the reason. Raises `UnreadableData`."""
    path = folder / f"{task.value}.jsonl"
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise UnreadableData(
            f"{path} cannot be read: {error.strerror}. `loreglass train data` writes such folders."
        ) from error
    samples, rejected = list[Sample](), list[RejectedRow]()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            sample = _SAMPLE.validate_json(line)
            if sample.task is not task:
                raise ValueError(f"it is a sample of {sample.task.value}")
            if sample.photo and not (folder / sample.photo).is_file():
                raise ValueError(f"its photo {sample.photo} is missing")
        except ValueError as error:
            why = first_fault(error) if isinstance(error, ValidationError) else str(error)
            rejected.append(RejectedRow(where=f"{path.name}, line {number}", why=why))
        else:
            samples.append(sample)
    return Reading(folder, tuple(samples), tuple(rejected))


def read_folders(
    folders: Sequence[Path], task: Task
) -> tuple[list[tuple[Any, Path | None]], list[RejectedRow]]:
    """Return each sample of a task once, with its photo, and invalid rows. Raises `UnreadableData`."""
    samples, rejected = dict[str, tuple[Any, Path | None]](), list[RejectedRow]()
    for folder in folders:
        reading = read_samples(folder, task)
        rejected += reading.rejected
        samples |= {sample.id: (sample, reading.photo(sample)) for sample in reading.samples}
    return list(samples.values()), rejected


def write_samples(folder: Path, task: Task, samples: Iterable[Sample]) -> None:
    """Write a task's file atomically."""
    lines = (sample.model_dump_json(exclude_defaults=True) for sample in samples)
    replace_text(folder / f"{task.value}.jsonl", "".join(f"{line}\n" for line in lines))


def write_index(folder: Path, facts: Mapping[str, Any], rejected: Sequence[RejectedRow]) -> None:
    """Write how the data set was made, and which rows were left out."""
    replace_text(folder / REJECTED, "".join(f"{row.model_dump_json()}\n" for row in rejected))
    replace_text(folder / INDEX, json.dumps(facts, indent=1, ensure_ascii=False) + "\n")


def counts(samples: Sequence[Sample]) -> dict[str, int]:
    """Count by part and, for conversations, by the source of the label: `train`, `train refusal`, …"""
    counted = Counter[str]()
    for sample in samples:
        counted[sample.part.value] += 1
        if isinstance(sample, ConversationSample):
            counted[f"{sample.part.value} {sample.source.value}"] += 1
    return dict(sorted(counted.items()))
