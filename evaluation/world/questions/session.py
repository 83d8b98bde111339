"""Sessions as the dataset has them: a photo and one or more turns."""

from __future__ import annotations

import random
import uuid
from dataclasses import dataclass
from enum import StrEnum

from evaluation.world.questions.ask import Ask


class Quality(StrEnum):
    """CRAG-MM's image quality labels."""

    NORMAL = "normal"
    LOW_LIGHT = "low light"
    BLURRED = "blurred"
    TRUNCATED = "truncated"
    OCCLUDED = "occluded"
    ROTATED = "rotated"


_DEFECTS = tuple(quality for quality in Quality if quality is not Quality.NORMAL)
_DEFECT_RATE = 0.2
_EXIF_ORIENTED = 0.15
_EXIF_GPS = 0.25


@dataclass(frozen=True)
class Shot:
    """A photo to take: of what, with which attributes readable, how well, with which EXIF.

    `orientation` is the EXIF value (1, 3, 6 or 8); `gps` says whether a position is embedded.
    """

    name: str
    subject: str
    shows: frozenset[str]
    quality: Quality
    orientation: int = 1
    gps: bool = False


@dataclass(frozen=True)
class Turn:
    """One question of a session."""

    interaction_id: str
    ask: Ask


@dataclass(frozen=True)
class Session:
    """A single question or a conversation about one photo."""

    session_id: str
    shot: Shot
    turns: tuple[Turn, ...]


class SessionMaker:
    """Gives sessions their ids and decides how each photo turns out."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._defect = rng.randrange(len(_DEFECTS))

    def _id(self) -> str:
        return str(uuid.UUID(int=self._rng.getrandbits(128), version=4))

    def _quality(self) -> Quality:
        """Normal mostly; the five defects take turns."""
        if self._rng.random() >= _DEFECT_RATE:
            return Quality.NORMAL
        self._defect += 1
        return _DEFECTS[self._defect % len(_DEFECTS)]

    def session(self, name: str, asks: list[Ask]) -> Session:
        """A session over a photo of the first question's subject."""
        rng = self._rng
        shows = frozenset(attribute for ask in asks for attribute in ask.shows)
        oriented = rng.random() < _EXIF_ORIENTED
        shot = Shot(
            f"photos/{name}.jpg",
            asks[0].subject.key,
            shows,
            self._quality(),
            rng.choice((3, 6, 8)) if oriented else 1,
            rng.random() < _EXIF_GPS,
        )
        return Session(self._id(), shot, tuple(Turn(self._id(), ask) for ask in asks))
