"""Pieces of text that may answer, ranked by a fitted curve."""

from collections.abc import Iterable
from dataclasses import dataclass

from chassis.calibration import LogisticCurve
from services.reader.engines.texts import Sentence

MOST_PROPOSALS = 2
"""Sentences of each kind of passage that are proposed."""
NO_RIVAL = 3.0
"""The lead, in log odds, of what has no rival; about the largest that rivals leave."""
RANKED = ("logit", "margin")
"""What the curve that answers is told besides the features: the log odds, and the lead over the next."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Words `first` to `last` of `sentence`; `key`: of an attribute, what its value is called."""

    sentence: Sentence
    first: int
    last: int
    vector: tuple[float, ...]
    key: str = ""

    @property
    def text(self) -> str:
        """The words, with a unit's sign."""
        return self.sentence.between(self.first, self.last)


def likeliest(pieces: Iterable[Piece], curve: LogisticCurve) -> list[Piece]:
    """The best pieces of different sentences, best first; their vectors end with `RANKED`."""
    scored = sorted(((curve.logit(each.vector), each) for each in pieces), key=lambda pair: -pair[0])
    best: dict[Sentence, tuple[float, Piece]] = {}
    for logit, piece in scored:
        best.setdefault(piece.sentence, (logit, piece))
    ranked = list(best.values())
    found = []
    for place, (logit, piece) in enumerate(ranked[:MOST_PROPOSALS]):
        others = ranked[:1] if place else ranked[1:2]
        rival = others[0][0] if others else logit - NO_RIVAL
        vector = (*piece.vector, logit, logit - rival)
        found.append(Piece(piece.sentence, piece.first, piece.last, vector, piece.key))
    return found
