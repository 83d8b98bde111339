"""What every judge is, and what it says."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from evaluation.data.model import Truth


class Verdict(StrEnum):
    """CRAG-MM's outcomes, which score 1, 0 and -1; people also say `acceptable`, which scores 0.5."""

    CORRECT = "correct"
    ACCEPTABLE = "acceptable"
    MISSING = "missing"
    INCORRECT = "incorrect"

    @property
    def points(self) -> float:
        """What it adds to truthfulness."""
        return _POINTS[self]


_POINTS = {Verdict.CORRECT: 1.0, Verdict.ACCEPTABLE: 0.5, Verdict.MISSING: 0.0, Verdict.INCORRECT: -1.0}


@dataclass(frozen=True, slots=True)
class Judgement:
    """`why`: what decided, for whoever reads the results. `failed`: the judge gave no verdict (it timed out,
    or what it wrote could not be read); the verdict is then `incorrect`, as the benchmark has it.
    """

    verdict: Verdict
    why: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """One answer to be judged, cut to its length already.

    `abstained`: the system itself says that this is a refusal; `failed`: there was no answer at all.
    """

    interaction_id: str
    question: str
    gold: str
    answer: str
    truth: Truth | None = None
    abstained: bool = False
    failed: bool = False


class Judge(Protocol):
    """Says whether an answer is right. Raises nothing: what goes wrong is a judgement that `failed`."""

    @property
    def name(self) -> str:
        """Under which its verdicts are kept: `rules`, `model:<model>`, `human`."""
        ...

    async def judge(self, case: Case) -> Judgement:
        """The verdict."""
        ...
