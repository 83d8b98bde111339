"""A loaded benchmark: conversations about photos, each turn with its gold answer, and rejected rows."""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict


class EvaluationError(Exception):
    """An error that ends a command: the message says why, and what to do."""


class DatasetError(EvaluationError):
    """A file, a folder or a hub repository is not a usable dataset.

    The message names it and says what to do. A single bad row is no error: see `Rejected`.
    """


class Part(StrEnum):
    """A part of the benchmark."""

    SINGLE = "single"
    MULTI = "multi"


class AnswerType(StrEnum):
    """The type of an answer, which sets the comparison. `SPAN`: spans of a text that people marked."""

    NUMBER = "number"
    DATE = "date"
    NAME = "name"
    SET = "set"
    BOOLEAN = "boolean"
    TEXT = "text"
    SPAN = "span"
    UNANSWERABLE = "unanswerable"


class Scorer(StrEnum):
    """The benchmark whose released scorer decides (`judging.benchmarks`)."""

    INFOSEEK = "infoseek"
    EVQA = "evqa"
    OKVQA = "okvqa"


class Truth(BaseModel):
    """The truth about one question. `contrast`: wrong candidates that a right answer may also mention;
    `must_not`: what no right answer asserts; `needs`: where the answer can be found; `photographed`: the name
    that image search should find by the photo, empty where nobody says or the index does not have it;
    `scorer`: instead of our rules; `range`: lowest and highest number that InfoSeek's scorer takes.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    interaction_id: str
    answer_type: AnswerType
    accepted: tuple[str, ...] = ()
    must_not: tuple[str, ...] = ()
    contrast: tuple[str, ...] = ()
    value: bool | int | float | str | list[str] | None = None
    unit: str | None = None
    entity: str = ""
    needs: str = ""
    photographed: str = ""
    scorer: Scorer | None = None
    range: tuple[float, float] | None = None

    @property
    def unkeyed(self) -> set[str]:
        """Fields to leave out of a stored verdict's key: the id, and later fields that are not set.

        So keys that older versions stored still match.
        """
        return {"interaction_id"} | {name for name in ("scorer", "range") if getattr(self, name) is None}


class Target(BaseModel):
    """The object that a question is about, by CRAG-MM-Diagnostics.

    `box`: left, top, right and bottom as shares of the photo's width and height. `question`: with the
    object's name in place of the photo. `reference`: how the question refers to the object.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    box: tuple[float, float, float, float] | None = None
    question: str = ""
    reference: str = ""


def is_answerable(truth: Truth | None) -> bool:
    """Return whether an answer other than a refusal can be right; true if the dataset does not say."""
    return truth is None or truth.answer_type is not AnswerType.UNANSWERABLE


@dataclass(frozen=True, slots=True)
class AskedTurn:
    """One question with its labels. `gold`: the truth as a sentence; `truth`: in parts, where it is known so.

    Labels (`domain`, `query_category`, `dynamism`, `image_quality`) are CRAG-MM's words or those of the data
    set, empty where unknown; `image_kind` is `egocentric` or `normal` by CRAG-MM's official rule.
    """

    interaction_id: str
    question: str
    gold: str
    domain: str = ""
    query_category: str = ""
    dynamism: str = ""
    image_quality: str = ""
    image_kind: str = ""
    truth: Truth | None = None
    target: Target | None = None

    @property
    def answerable(self) -> bool:
        """See `is_answerable`."""
        return is_answerable(self.truth)

    @property
    def needs(self) -> str:
        """The sources that have the answer; empty if unknown."""
        return self.truth.needs if self.truth else ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """The questions asked about a photo, or without one; a single question is a conversation of one turn."""

    session_id: str
    part: Part
    photo: Path | None
    turns: tuple[AskedTurn, ...]


@dataclass(frozen=True, slots=True)
class Text:
    """A text that the dataset's questions are about, and that becomes a page of the index."""

    url: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row that cannot be asked. `kind`: a stable name to count by (`malformed_row`, `missing_image`,
    `unknown_label`, `repeated_session`, …); `where`: file and line, or split and row; `why`: a sentence.
    """

    kind: str
    where: str
    why: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """Everything that can be asked, in file order, and every row that cannot.

    `name`: for people ("crag-mm-single-turn-public/validation"). `texts`: what must be indexed before the
    questions are asked, where the dataset brings it along.
    """

    name: str
    conversations: tuple[Conversation, ...]
    rejected: tuple[Rejected, ...] = ()
    texts: tuple[Text, ...] = ()

    @property
    def fingerprint(self) -> str:
        """SHA-256 (hex) of ids, questions, golds and photos' names: a run is never resumed with others."""
        digest = hashlib.sha256()
        for each in self.conversations:
            turns = [[turn.interaction_id, turn.question, turn.gold] for turn in each.turns]
            photo = each.photo.name if each.photo else ""
            digest.update(json.dumps([each.session_id, photo, turns]).encode() + b"\n")
        return digest.hexdigest()

    def of(self, part: Part) -> tuple[Conversation, ...]:
        return tuple(each for each in self.conversations if each.part is part)

    @property
    def rejections(self) -> dict[str, int]:
        """The number of rejected rows by kind."""
        return dict(Counter(row.kind for row in self.rejected))
