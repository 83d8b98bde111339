"""What a relation is: how people ask for it, what infoboxes call it and how prose states it."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files
from typing import Any


class Answer(StrEnum):
    """The kind of thing that answers a question (answer-type taxonomy in the spirit of Li and Roth, 2002)."""

    PERSON = "person"
    NAME = "name"
    PLACE = "place"
    DATE = "date"
    HOURS = "hours"
    WEEKDAY = "weekday"
    NUMBER = "number"
    MONEY = "money"
    QUANTITY = "quantity"
    PERCENT = "percent"
    PHONE = "phone"
    PHRASE = "phrase"
    YES_NO = "yes_no"
    EXPLANATION = "explanation"


NAMED = frozenset({Answer.PERSON, Answer.NAME, Answer.PLACE})
NUMERIC = frozenset({Answer.NUMBER, Answer.MONEY, Answer.QUANTITY, Answer.PERCENT})


@dataclass(frozen=True, slots=True)
class Relation:
    """`nouns` name it (also as infobox keys); `verbs` state it; `wh` asks it with a verb.

    `asks` are further question patterns, `cues` further evidence patterns, both regular expressions over
    folded text. `dimension` is a unit dimension for quantities. `plural`: it usually has several values.
    """

    name: str
    answer: Answer
    nouns: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ()
    wh: str = ""
    asks: tuple[str, ...] = ()
    cues: tuple[str, ...] = ()
    dimension: str = ""
    plural: bool = False


_ROLES = {"who": Answer.PERSON, "when": Answer.DATE, "where": Answer.PLACE}
_FILES = ("events", "measures", "counts", "descriptions")


@lru_cache(maxsize=1)
def all_relations() -> tuple[Relation, ...]:
    """The lexicon, read once from the package's TOML files."""
    folder = files("gateway.reasoning.extractive") / "lexicon"
    return tuple(
        r for name in _FILES for r in _parse(tomllib.loads((folder / f"{name}.toml").read_text("utf-8")))
    )


def _parse(table: dict[str, Any]) -> Iterator[Relation]:
    for row in table.get("event", ()):
        for wh, kind in _ROLES.items():
            if wh in row:
                nouns = _split(row[wh])
                answer = Answer.NAME if wh == "who" and row.get("agent") == "name" else kind
                asks, cues = tuple(row.get(f"asks_{wh}", ())), tuple(row.get(f"cues_{wh}", ()))
                yield Relation(nouns[0], answer, nouns, _split(row["verbs"]), wh, asks, cues)
    for row in table.get("relation", ()):
        yield Relation(
            row["name"],
            Answer(row["answer"]),
            _split(row["nouns"]),
            _split(row.get("verbs", "")),
            row.get("wh", ""),
            tuple(row.get("asks", ())),
            tuple(row.get("cues", ())),
            row.get("dimension", ""),
            row.get("plural", False),
        )


def _split(phrases: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(p for p in phrases.split("|") if p))
