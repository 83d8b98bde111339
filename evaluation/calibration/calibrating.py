"""From runs to thresholds and their promise: the aim, the evidence, the choice, the check."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

import numpy as np

from evaluation.calibration.ceiling import Guarantee, through
from evaluation.calibration.proposals import Judging, judged_together, pipeline_of, questions_of, same_system
from evaluation.calibration.replay import REPLAYED, ROUTER, CalibrationError, Cutoffs, Signals, replay
from evaluation.calibration.report import (
    Base,
    Check,
    Choose,
    Promise,
    Source,
    cross_validated,
    gain,
    kept,
    under,
    wrong_by_conversation,
)
from evaluation.calibration.search import Objective, Search
from evaluation.runs.store import Run


class Best(StrEnum):
    """The aim of an exhaustive search."""

    TRUTHFULNESS = "truthfulness"
    ACCURACY = "accuracy"


@dataclass(frozen=True, slots=True)
class Aim:
    """The best of something, found by search; or with a `guarantee`, the most answers that it allows."""

    objective: Objective = field(default_factory=Objective)
    guarantee: Guarantee | None = None
    tuned: Collection[str] = REPLAYED

    def chooser(self, present: Cutoffs) -> Choose:
        """How thresholds are chosen on some questions. Raises, when called, `CalibrationError`."""

        def search(signals: Signals) -> Cutoffs:
            return Search(present, self.objective, self.tuned).best(signals)

        def promise(signals: Signals) -> Cutoffs:
            assert self.guarantee is not None
            return self.guarantee.choose(signals, through(present))

        return search if self.guarantee is None else promise

    @property
    def ceiling(self) -> float | None:
        """The most that may be answered wrongly, if there is such."""
        return self.objective.ceiling if self.guarantee is None else self.guarantee.ceiling

    @property
    def told(self) -> str:
        """In a sentence."""
        if self.ceiling is None:
            return "The best truthfulness."
        wrong = f"{100 * self.ceiling:g} % wrong among all questions"
        if self.guarantee is None:
            return f"The most accuracy with at most {wrong} where it was chosen; no guarantee elsewhere."
        wrong += ", conversations counting alike"
        if self.guarantee.confidence is None:
            return f"At most {wrong}, on average over calibrations (conformal risk control)."
        sure = f"{100 * self.guarantee.confidence:g} %"
        return f"At most {wrong}, in {sure} of all calibrations (Learn then Test)."


def aim_of(
    best: Best | None,
    ceiling: float | None,
    confidence: float | None,
    tuned: Collection[str],
) -> Aim:
    """Options of the command. Raises `CalibrationError` for options that exclude each other."""
    unknown = [name for name in tuned if name not in REPLAYED]
    if unknown:
        raise CalibrationError(f"{unknown[0]} cannot be tuned by replay; choose among {', '.join(REPLAYED)}.")
    if ceiling is None:
        if best is Best.ACCURACY or confidence is not None:
            raise CalibrationError("Accuracy and a confidence need a --ceiling on wrong answers.")
        return Aim(tuned=tuned)
    if best is Best.TRUTHFULNESS:
        raise CalibrationError("Either the best truthfulness, or a ceiling on wrong answers.")
    guarantee = Guarantee(ceiling, confidence)
    if best is Best.ACCURACY:
        if confidence is not None:
            raise CalibrationError("Accuracy under a ceiling is found by search: it has no confidence.")
        return Aim(Objective(ceiling), tuned=tuned)
    if set(tuned) != set(REPLAYED):
        raise CalibrationError("A guarantee moves all thresholds of the answer together; leave out --tune.")
    return Aim(guarantee=guarantee)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Runs of one system and what they tell. `judge`: its name. `thresholds`: all that were in force.
    `unjudged`: answers on which the judge failed.
    """

    runs: Sequence[Run]
    thresholds: Mapping[str, float]
    signals: Signals
    judge: str
    unjudged: int = 0

    @property
    def pipeline(self) -> str:
        """Who answered."""
        return pipeline_of(self.runs[0])

    @property
    def sources(self) -> list[Source]:
        """The runs, named."""
        return [
            Source(
                folder=str(run.folder),
                name=run.header.name,
                dataset=run.header.dataset,
                fingerprint=run.header.fingerprint,
                questions=len(run.records),
                degraded=sum(bool(record.answer and record.answer.degraded) for record in run.records),
            )
            for run in self.runs
        ]


@dataclass(frozen=True, slots=True)
class Calibrated:
    """`present`: the thresholds to improve on; `chosen`: those that do."""

    evidence: Evidence
    aim: Aim
    present: Cutoffs
    chosen: Cutoffs
    base: Base

    @property
    def values(self) -> dict[str, float]:
        """All thresholds for the file: the chosen ones, and those that the answers were made with."""
        return {**self.base.values, **self.evidence.thresholds, **self.chosen.named()}


async def collect(runs: Sequence[Run], judging: Judging) -> Evidence:
    """The runs judged. Raises `CalibrationError` for runs that do not go together, or hold no question."""
    thresholds = same_system(runs)
    found = await judged_together(runs, judging)
    return Evidence(runs, thresholds, found.signals, judging.judge.name, found.unjudged)


def calibrated(evidence: Evidence, aim: Aim, base: Base) -> Calibrated:
    """Return the thresholds that reach the aim. Raises `CalibrationError`."""
    present = present_cutoffs(evidence, base)
    return Calibrated(evidence, aim, present, aim.chooser(present)(evidence.signals), base)


def present_cutoffs(evidence: Evidence, base: Base) -> Cutoffs:
    """The base's; the router's as they were where some drafts were given at once, since those stay given."""
    present = Cutoffs.among(base.values)
    if not evidence.signals.went_direct.any():
        return present
    return present.with_values({name: getattr(evidence.signals.in_force, name) for name in ROUTER})


def promise_of(calibration: Calibrated) -> Promise:
    """What is to be expected, on the questions it was chosen on and on others."""
    signals, aim = calibration.evidence.signals, calibration.aim
    expected = cross_validated(signals, aim.chooser(calibration.present))
    before, values = calibration.base.values, calibration.values
    return Promise(
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        pipeline=calibration.evidence.pipeline,
        judge=calibration.evidence.judge,
        aim=aim.told,
        ceiling=aim.ceiling,
        confidence=aim.guarantee.confidence if aim.guarantee else None,
        runs=calibration.evidence.sources,
        version=calibration.base.version + 1,
        thresholds=values,
        changed={
            name: (before[name], value)
            for name, value in values.items()
            if name in before and before[name] != value
        },
        before=under(signals, calibration.present),
        after=under(signals, calibration.chosen),
        expected=expected,
        gain=gain(signals, calibration.present, calibration.chosen),
        uncertain=uncertain(signals, calibration.chosen),
        unjudged=calibration.evidence.unjudged,
    )


def checked(promise: Promise, calibration: Calibrated, evidence: Evidence) -> Promise:
    """The promise with what other questions say of it. Raises `CalibrationError` if they can say nothing."""
    _comparable(promise, calibration, evidence)
    signals, after = evidence.signals, calibration.chosen
    found = under(signals, after)
    wrong = None
    if calibration.aim.guarantee is not None:
        wrong = wrong_by_conversation(signals, after)
    held, told = kept(calibration.aim.ceiling, promise.expected or promise.after, found, wrong)
    check = Check(
        runs=evidence.sources,
        before=under(signals, calibration.present),
        after=found,
        gain=gain(signals, calibration.present, after),
        uncertain=uncertain(signals, after),
        kept=held,
        told=told,
    )
    return promise.model_copy(update={"check": check})


def uncertain(signals: Signals, cutoffs: Cutoffs) -> int:
    """Of how many questions the replay is not exact."""
    return int(np.count_nonzero(~replay(signals, cutoffs).exact))


def _comparable(promise: Promise, calibration: Calibrated, evidence: Evidence) -> None:
    if evidence.pipeline != promise.pipeline:
        raise CalibrationError(f"The check is a run of {evidence.pipeline}, not of {promise.pipeline}.")
    shared = questions_of(evidence.runs) & questions_of(calibration.evidence.runs)
    if shared:
        raise CalibrationError(
            f"The check asked questions that the thresholds were chosen on ({len(shared)} of them)."
        )
    made, tested = calibration.evidence.thresholds, evidence.thresholds
    other = [name for name in made if name not in REPLAYED and tested.get(name) != made[name]]
    if other:
        told = ", ".join(f"{name}={made[name]:g}" for name in other)
        raise CalibrationError(f"The check must be made with {told}, which cannot be replayed: --threshold.")
