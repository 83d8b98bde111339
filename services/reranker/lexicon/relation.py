"""The shape of a lexicon entry."""

from dataclasses import dataclass
from enum import StrEnum


class AnswerType(StrEnum):
    """The kind of phrase that can answer a question."""

    PERSON = "person"
    DATE = "date"
    NUMBER = "number"
    MEASURE = "measure"
    MONEY = "money"
    PLACE = "place"
    TIME = "time"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Relation:
    """One attribute of a thing.

    `asks`: phrases found in questions; `*` stands for up to eight words. `cues`: phrases found in
    passages that state the attribute. Both are compared by stem.
    """

    name: str
    answer: AnswerType
    asks: tuple[str, ...]
    cues: tuple[str, ...]


def relation(name: str, answer: AnswerType, asks: str, cues: str) -> Relation:
    """Read an entry written with `|` between phrases, which keeps the lexicon's tables narrow."""
    return Relation(name, answer, _phrases(asks), _phrases(cues))


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(phrase for part in text.split("|") if (phrase := " ".join(part.split())))
