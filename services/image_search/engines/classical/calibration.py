"""From evidence to a probability, and the file with the trained numbers (one .npz without pickles)."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from chassis.calibration import LogisticCurve
from services.image_search.engines.classical.features import Floats
from services.image_search.engines.classical.verification import Evidence
from services.image_search.engines.classical.vlad import VladModel

GEOMETRY = ("log_coherent", "log_cells", "coherent_share")
"""Few signals, each of which can only help: more of them fit drawn pictures better and real places worse."""
PRINT = ("explained", "coherent_share")
CERTAIN = 0.9995
SAME_PLACE = 0.5


@dataclass(frozen=True, slots=True)
class Calibration:
    """Two questions: do the photos share anything (`geometry`), and, where that is printed matter, is it
    the whole print and not just a part that other prints have too (`whole_print`)? `rivalry`: when two
    things are seen at one place, the log-odds between them per log of the ratio of their support.
    """

    geometry: LogisticCurve
    whole_print: LogisticCurve
    rivalry: float

    def probability(self, evidence: Evidence) -> float:
        """That both photos show the same thing. Nothing is certain: at most 0.9995."""
        if not evidence.coherent:
            return 0.0
        # Of the matches with a common turn and scale, those that moved with their neighbours.
        coherent_share = evidence.coherent / max(evidence.consistent, 8)
        logs = math.log1p(evidence.coherent), math.log1p(evidence.cells)
        shared = self.geometry.probability([*logs, coherent_share])
        whole = self.whole_print.probability([evidence.explained, coherent_share])
        doubt = evidence.print_likeness * (1 - whole)
        return min(CERTAIN, shared * (1 - doubt))


@dataclass(frozen=True, slots=True)
class Claim:
    """One entity said to be at one place (`box`, as `Evidence.query_box`) of one photo.

    `support`: coherent matches.
    """

    entity: str
    probability: float
    support: int
    box: tuple[float, float, float, float]


def settle(claims: Sequence[Claim], rivalry: float) -> list[float]:
    """Probabilities once rivals are heard: one place shows one entity, most likely the best supported.

    Claims of the same entity, or about different places of the photo, are no rivals. Two that are
    supported alike halve each other, so that neither is told for sure.
    """
    weights = [claim.probability * float(claim.support) ** rivalry for claim in claims]
    settled = []
    for claim, own in zip(claims, weights, strict=True):
        rivals: dict[str, float] = {}
        for other, weight in zip(claims, weights, strict=True):
            if other.entity != claim.entity and _overlap(claim.box, other.box) >= SAME_PLACE:
                rivals[other.entity] = max(weight, rivals.get(other.entity, 0.0))
        share = own / (own + sum(rivals.values())) if own > 0 else 0.0
        settled.append(claim.probability * share)
    return settled


def _overlap(first: tuple[float, float, float, float], second: tuple[float, float, float, float]) -> float:
    """Shared area as a share of the smaller box."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    if width <= 0 or height <= 0:
        return 0.0
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (first, second)]
    return width * height / max(min(areas), 1e-9)


DEFAULT_ARTEFACT = Path(__file__).parents[1] / "builtin.npz"
FORMAT = 1
SIGNALS = (*GEOMETRY, *PRINT)


class UnusableArtefact(Exception):
    """The file is not an artefact that this code can use."""


@dataclass(frozen=True, slots=True, eq=False)
class Artefact:
    """Fitted parameters: the photo encoding and the weights of evidence."""

    vlad: VladModel
    calibration: Calibration


def load(path: Path = DEFAULT_ARTEFACT) -> Artefact:
    """Read an artefact. Raises `UnusableArtefact` for one of another format."""
    with np.load(path, allow_pickle=False) as stored:
        if int(stored["format"]) != FORMAT or tuple(stored["signals"]) != SIGNALS:
            raise UnusableArtefact(f"{path.name} was trained for other code; run the training again")
        floats = {name: stored[name].astype(np.float32) for name in ("mean", "reduce", "words", "centre")}
        basis = stored["basis"].astype(np.float32) * stored["basis_steps"]
        calibration = Calibration(
            geometry=_curve(stored["geometry"]),
            whole_print=_curve(stored["whole_print"]),
            rivalry=float(stored["rivalry"]),
        )
    return Artefact(VladModel(**floats, basis=basis), calibration)


def _curve(numbers: Floats) -> LogisticCurve:
    """Return the curve of weights, then the bias."""
    return LogisticCurve(float(numbers[-1]), tuple(map(float, numbers[:-1])))
