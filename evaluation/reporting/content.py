"""Everything that a report says, before it is written down in any form."""

from collections.abc import Mapping
from dataclasses import dataclass

from evaluation.judging.port import Judgement
from evaluation.record import RunHeader, TurnRecord
from evaluation.reporting.confidence import Curve, Reliability
from evaluation.reporting.failures import Failure
from evaluation.reporting.readings import Estimate, MeasureName
from evaluation.reporting.slices import Sliced
from evaluation.reporting.spans import SpanReport
from evaluation.reporting.timing import StageTimes
from evaluation.scoring.intervals import Paired
from evaluation.scoring.scores import Refusals


@dataclass(frozen=True, slots=True)
class PartScores:
    """One system on one part: `single`, `multi` or `all`."""

    part: str
    questions: int
    sessions: int
    estimates: Mapping[MeasureName, Estimate]


@dataclass(frozen=True, slots=True)
class SystemReport:
    """What one run came to. `parts`: those that were asked, the whole last; `number`: its place, from 1.

    `folder` is the run's, for whoever wants to look further. `failed`: requests without an answer, by kind;
    `judge_failures`: verdicts that the judge did not give, by why. `spans`: where the golds are stretches of
    a text.
    """

    number: int
    name: str
    folder: str
    header: RunHeader
    asked: int
    parts: tuple[PartScores, ...]
    failed: Mapping[str, int]
    asked_again: int
    judge_failures: Mapping[str, int]
    degraded: Mapping[str, int]
    refusals: Refusals
    stages: tuple[StageTimes, ...]
    curve: Curve
    reliability: Reliability
    spans: SpanReport | None = None

    @property
    def whole(self) -> PartScores:
        """All parts together."""
        return self.parts[-1]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two systems on the same sessions: `one` less `other` in truthfulness; `corrected`: p after Holm."""

    one: str
    other: str
    paired: Paired
    corrected: float

    @property
    def stars(self) -> str:
        """By the corrected p."""
        return "".join("*" for limit in (0.05, 0.01, 0.001) if self.corrected < limit)


@dataclass(frozen=True, slots=True)
class Reply:
    """What one system said to a question, and how it was judged."""

    system: str
    record: TurnRecord
    judgement: Judgement
    verdict: str


@dataclass(frozen=True, slots=True)
class ShownFailure:
    """A failure with the replies of all systems, its own first. `photo`: a small JPEG, or why none."""

    failure: Failure
    replies: tuple[Reply, ...]
    photo: bytes | None
    no_photo: str


@dataclass(frozen=True, slots=True)
class Report:
    """`asked`: questions that any of the runs asked; `questions`: those that all did, in whole sessions, and
    that are compared. `remarks`: what a reader must know of how this came about. `made_at`: Unix seconds.
    """

    dataset: str
    made_at: float
    judge: str
    protocol: str
    cut: str
    baseline: str | None
    asked: int
    questions: int
    sessions: int
    rejected: Mapping[str, int]
    remarks: tuple[str, ...]
    systems: tuple[SystemReport, ...]
    slices: tuple[Sliced, ...]
    pairs: tuple[Pair, ...]
    studied: str
    rule: str
    failures: tuple[ShownFailure, ...]
