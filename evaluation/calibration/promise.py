"""What a calibration promises, and whether other questions kept it: for people, and as JSON beside the
file."""

from pydantic import BaseModel, ConfigDict

from evaluation.calibration.aim import Aim
from evaluation.calibration.estimate import Given
from evaluation.scoring.intervals import Interval


class _Kept(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Source(_Kept):
    """A run that was used. `degraded`: questions that were answered without one of the stages."""

    folder: str
    name: str
    dataset: str
    fingerprint: str
    questions: int
    degraded: int


class Check(_Kept):
    """The promise held against other questions. `uncertain`: of how many the replay is not exact."""

    runs: list[Source]
    before: Given
    after: Given
    gain: Interval
    uncertain: int
    kept: bool | None
    told: str


class Promise(_Kept):
    """`before`, `after`: on the questions it was chosen on, after that in sample; `expected`: every
    conversation under thresholds that were chosen without it. `changed`: thresholds by name, from and to.
    `uncertain`: of how many questions the replay is not exact.
    """

    made_at: str
    pipeline: str
    judge: str
    aim: str
    ceiling: float | None
    confidence: float | None
    runs: list[Source]
    version: int
    thresholds: dict[str, float]
    changed: dict[str, tuple[float, float]]
    before: Given
    after: Given
    expected: Given | None
    gain: Interval
    uncertain: int
    unjudged: int
    check: Check | None = None


def kept(
    aim: Aim, expected: Given, found: Given, wrong: tuple[float, float] | None = None
) -> tuple[bool | None, str]:
    """Whether other questions kept the promise, and in what words; None where they are too few to say.

    A ceiling is kept if no more was wrong, broken if the whole interval lies above it. Truthfulness is kept
    if it is not below the interval that was expected, and broken if its own interval lies below that.
    `wrong`: the share that a guarantee bounds and the lower end of its interval.
    """
    if aim.ceiling is None:
        low, high = expected.truthfulness_range.low, found.truthfulness_range.high
        told = f"truthfulness {found.truthfulness:+.3f} where at least {low:+.3f} was to be expected"
        return _settled(found.truthfulness >= low, high < low, told)
    share, least = wrong or (found.hallucination, found.hallucination_range.low)
    told = f"{100 * share:.1f} % were wrong where at most {100 * aim.ceiling:g} % may be"
    if wrong and found.sessions < found.questions:
        told += " (every conversation counts alike)"
    return _settled(share <= aim.ceiling, least > aim.ceiling, told)


def _settled(held: bool, missed: bool, told: str) -> tuple[bool | None, str]:
    if held or missed:
        return held, f"{'Kept' if held else 'Broken'}: {told}."
    return None, f"Undecided: {told}, which may be chance."
