"""A calibration from the runs to the promise: what was asked of whom, what was chosen, what it gives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from evaluation.calibration.aim import Aim
from evaluation.calibration.estimate import cross_validated, gain, under, wrong_by_conversation
from evaluation.calibration.promise import Check, Promise, Source, kept
from evaluation.calibration.proposals import Judging, judged_together, pipeline_of, questions_of, same_system
from evaluation.calibration.replay import REPLAYED, ROUTER, CalibrationError, Cutoffs, Signals, replay
from evaluation.calibration.threshold_file import Base
from evaluation.runs.store import Run


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
    """`present`: the thresholds to do better than; `chosen`: what does. `rivals`: what else could have been
    chosen, the same questions asked under other thresholds, `evidence` among them.
    """

    evidence: Evidence
    aim: Aim
    present: Cutoffs
    chosen: Cutoffs
    base: Base
    rivals: Sequence[Signals]

    @property
    def values(self) -> dict[str, float]:
        """All thresholds for the file: the chosen ones, and those that the answers were made with."""
        return {**self.base.values, **self.evidence.thresholds, **self.chosen.named()}


async def collect(runs: Sequence[Run], judging: Judging) -> Evidence:
    """The runs judged. Raises `CalibrationError` for runs that do not go together, or hold no question."""
    thresholds = same_system(runs)
    found = await judged_together(runs, judging)
    return Evidence(runs, thresholds, found.signals, judging.judge.name, found.unjudged)


def calibrated(candidates: Sequence[Evidence], aim: Aim, base: Base) -> Calibrated:
    """The thresholds that reach the aim, of the candidate that reaches it best. Raises `CalibrationError`.

    Several candidates are the same questions asked under other thresholds; a guarantee allows but one.
    """
    if len(candidates) > 1 and aim.guarantee is not None:
        raise CalibrationError(
            "A guarantee is lost by choosing among several runs: choose by --best first, then promise with "
            "other questions."
        )
    if len({len(candidate.signals) for candidate in candidates}) > 1:
        raise CalibrationError("A run is not complete; the same command goes on with it.")
    rivals = [candidate.signals for candidate in candidates]
    settings = []
    for candidate in candidates:
        present = present_cutoffs(candidate, base)
        chosen = aim.chooser(present)(candidate.signals)
        settings.append(Calibrated(candidate, aim, present, chosen, base, rivals))
    return max(settings, key=lambda setting: aim.value(setting.evidence.signals, setting.chosen))


def present_cutoffs(evidence: Evidence, base: Base) -> Cutoffs:
    """The base's; the router's as they were where some drafts were given at once, since those stay given."""
    present = Cutoffs.among(base.values)
    if not evidence.signals.went_direct.any():
        return present
    return present.with_values({name: getattr(evidence.signals.in_force, name) for name in ROUTER})


def promise_of(calibration: Calibrated) -> Promise:
    """What is to be expected, on the questions it was chosen on and on others."""
    signals, aim = calibration.evidence.signals, calibration.aim
    expected = cross_validated(calibration.rivals, aim.chooser(calibration.present), aim.value)
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
    held, told = kept(calibration.aim, promise.expected or promise.after, found, wrong)
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
