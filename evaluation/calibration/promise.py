"""From runs to thresholds and their promise: the evidence, the choice, what to expect, and the check."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from evaluation.calibration.proposals import Evidence, Source, pipeline_of, questions_of
from evaluation.calibration.replay import (
    REPLAYED,
    ROUTER,
    Bools,
    CalibrationError,
    Cutoffs,
    Floats,
    Signals,
    by_conversation,
    replay,
)
from evaluation.calibration.search import best_cutoffs, loosest_below, losses, through
from evaluation.judging.text import one_line
from evaluation.scoring.intervals import Interval, mean_interval

FOLDS = 5
Choose = Callable[[Signals], Cutoffs]


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Figures(_Stored):
    """Results of thresholds: shares of all questions with 95 % intervals over conversations."""

    questions: int
    sessions: int
    accuracy: float
    acceptable: float
    missing: float
    hallucination: float
    hallucination_range: Interval
    truthfulness: float
    truthfulness_range: Interval


class Change(_Stored):
    """Some questions before and after. `gain`: the interval of the difference in truthfulness."""

    before: Figures
    after: Figures
    gain: Interval


class Check(Change):
    """The promise, checked on other questions. `holds`: None if they are too few; `sentence`: the result."""

    runs: list[Source]
    holds: bool | None
    sentence: str


class Promise(Change):
    """`before`, `after`: on the questions it was chosen on, after that in sample; `expected`: every
    conversation under thresholds that were chosen without it. `changed`: thresholds by name, from and to.
    """

    made_at: str
    pipeline: str
    judge: str
    aim: str
    ceiling: float | None
    runs: list[Source]
    version: int
    thresholds: dict[str, float]
    changed: dict[str, tuple[float, float]]
    expected: Figures | None
    unjudged: int
    check: Check | None = None


@dataclass(frozen=True, slots=True)
class Base:
    """The earlier thresholds, by the tables of their file."""

    version: int
    tables: Mapping[str, Mapping[str, float]]

    @property
    def values(self) -> dict[str, float]:
        return {name: value for table in self.tables.values() for name, value in table.items()}


def choose_thresholds(
    evidence: Evidence, ceiling: float | None, base: Base, test: Evidence | None = None
) -> Promise:
    """Return the thresholds of the best truthfulness, or the loosest below a `ceiling` on the share answered
    wrongly, and what they promise. `test`: other questions to hold the promise against.

    Raises `CalibrationError`, also where the test can say nothing of it.
    """
    signals = evidence.signals
    present = _present(evidence, base)
    choose = chooser(ceiling, present)
    chosen = choose(signals)
    values = {**base.values, **evidence.thresholds, **asdict(chosen)}
    changed = {name: (before, values[name]) for name, before in base.values.items() if before != values[name]}
    expected = cross_validate(signals, choose)
    promise = Promise(
        **_change(signals, present, chosen),
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        pipeline=pipeline_of(evidence.runs[0]),
        judge=evidence.judge,
        aim=_aim(ceiling),
        ceiling=ceiling,
        runs=evidence.sources,
        version=base.version + 1,
        thresholds=values,
        changed=changed,
        expected=expected,
        unjudged=evidence.unjudged,
    )
    if test is None:
        return promise
    _require_comparable(evidence, test)
    change = _change(test.signals, present, chosen)
    wrong = wrong_by_conversation(test.signals, chosen) if ceiling else None
    holds, sentence = compare_with_promise(ceiling, expected or promise.after, change["after"], wrong)
    check = Check(**change, runs=test.sources, holds=holds, sentence=sentence)
    return promise.model_copy(update={"check": check})


def chooser(ceiling: float | None, present: Cutoffs) -> Choose:
    """Return a function that chooses thresholds on some questions. The function raises `CalibrationError`."""

    def choose(signals: Signals) -> Cutoffs:
        if ceiling is None:
            return best_cutoffs(signals, present)
        return loosest_below(ceiling, signals, through(present))

    return choose


def _present(evidence: Evidence, base: Base) -> Cutoffs:
    """Return the base's cutoffs; the run's for the router if drafts were answers, which stay answers."""
    present = Cutoffs.among(base.values)
    if not evidence.signals.went_direct.any():
        return present
    return replace(present, **{name: getattr(evidence.signals.in_force, name) for name in ROUTER})


def _aim(ceiling: float | None) -> str:
    if ceiling is None:
        return "The best truthfulness."
    wrong = f"At most {100 * ceiling:g} % wrong among all questions, conversations counting alike"
    return f"{wrong}, on average over calibrations (conformal risk control)."


def _require_comparable(evidence: Evidence, test: Evidence) -> None:
    pipeline, wanted = pipeline_of(test.runs[0]), pipeline_of(evidence.runs[0])
    if pipeline != wanted:
        raise CalibrationError(f"The check is a run of {pipeline}, not of {wanted}.")
    shared = questions_of(test.runs) & questions_of(evidence.runs)
    if shared:
        raise CalibrationError(
            f"The check asked questions that the thresholds were chosen on ({len(shared)} of them)."
        )
    made, tested = evidence.thresholds, test.thresholds
    other = [name for name in made if name not in REPLAYED and tested.get(name) != made[name]]
    if other:
        values = ", ".join(f"{name}={made[name]:g}" for name in other)
        raise CalibrationError(
            f"The check must be made with {values}, which cannot be replayed: --threshold."
        )


def figures_of(signals: Signals, points: Floats) -> Figures:
    right, acceptable, missing, wrong = (float((points == value).mean()) for value in (1.0, 0.5, 0.0, -1.0))
    return Figures(
        questions=len(points),
        sessions=signals.sessions,
        accuracy=right,
        acceptable=acceptable,
        missing=missing,
        hallucination=wrong,
        hallucination_range=_interval(signals, points < 0.0),
        truthfulness=right + 0.5 * acceptable - wrong,
        truthfulness_range=_interval(signals, points),
    )


def _change(signals: Signals, before: Cutoffs, after: Cutoffs) -> dict[str, Any]:
    """Return the fields of a `Change` between two settings on the same questions."""
    was, now = replay(signals, before), replay(signals, after)
    return {
        "before": figures_of(signals, was),
        "after": figures_of(signals, now),
        "gain": _interval(signals, now - was),
    }


def _interval(signals: Signals, values: Floats | Bools) -> Interval:
    return mean_interval(*by_conversation(signals, values))


def wrong_by_conversation(signals: Signals, cutoffs: Cutoffs) -> tuple[float, float]:
    """Return what a ceiling bounds: the share answered wrongly, every conversation counting alike, and the
    lower end of its 95 % interval.
    """
    lost = losses(signals, cutoffs)
    return float(lost.mean()), mean_interval(lost, np.ones_like(lost)).low


def cross_validate(signals: Signals, choose: Choose) -> Figures | None:
    """Return the figures of every conversation under thresholds chosen on the others.

    Whole conversations are drawn into a fold at random. None if there are too few to leave some out.
    """
    sessions, place = np.unique(signals.session, return_inverse=True)
    if len(sessions) < FOLDS:
        return None
    fold_of = np.empty(len(sessions), np.int64)
    fold_of[np.random.default_rng(0).permutation(len(sessions))] = np.arange(len(sessions)) % FOLDS
    points = np.zeros(len(signals))
    for fold in range(FOLDS):
        inside = fold_of[place] == fold
        try:
            cutoffs = choose(signals.where(~inside))
        except CalibrationError:
            return None
        points[inside] = replay(signals.where(inside), cutoffs)
    return figures_of(signals, points)


def compare_with_promise(
    ceiling: float | None, expected: Figures, observed: Figures, wrong: tuple[float, float] | None = None
) -> tuple[bool | None, str]:
    """Return whether the promise holds on other questions (None: too few to say), and a sentence about it.

    A ceiling holds if the share of wrong answers is at most the ceiling, and is broken if the whole interval
    is above it. Truthfulness holds if it is not below the expected interval, and is broken if its own
    interval is below that.
    `wrong`: the share that a ceiling bounds and the lower end of its interval.
    """
    if ceiling is None:
        low, high = expected.truthfulness_range.low, observed.truthfulness_range.high
        holds, broken = observed.truthfulness >= low, high < low
        claim = f"truthfulness {observed.truthfulness:+.3f} where at least {low:+.3f} was to be expected"
    else:
        share, least = wrong or (observed.hallucination, observed.hallucination_range.low)
        holds, broken = share <= ceiling, least > ceiling
        claim = f"{100 * share:.1f} % were wrong where at most {100 * ceiling:g} % may be"
        if wrong and observed.sessions < observed.questions:
            claim += " (every conversation counts alike)"
    if holds or broken:
        return holds, f"{'Kept' if holds else 'Broken'}: {claim}."
    return None, f"Undecided: {claim}, which may be chance."


_FURTHER = "further"


def read_base(path: Path) -> Base:
    """Read a thresholds file. Raises `CalibrationError` if it is not one."""
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise CalibrationError(f"{path} cannot be read; --base names the gateway's file.") from error
    except ValueError as error:
        raise CalibrationError(f"{path} is not TOML: {error}.") from error
    version = content.pop("version", None)
    tables = {name: table for name, table in content.items() if isinstance(table, dict)}
    tables[_FURTHER] = {name: value for name, value in content.items() if name not in tables}
    numbers = [value for table in tables.values() for value in table.values()]
    if not isinstance(version, int) or not all(isinstance(value, int | float) for value in numbers):
        raise CalibrationError(f"{path} is not a thresholds file: it holds a version and numbers.")
    return Base(version, tables)


def render(promise: Promise, base: Base) -> str:
    """Return a thresholds file: aim and runs, and all values by the base's tables, with what they were."""
    before, values = base.values, promise.thresholds
    comments = [f"Chosen on {promise.made_at} by `loreglass eval calibrate` for {promise.pipeline}."]
    comments.append(promise.aim)
    for run in promise.runs:
        about = f"{run.dataset} (fingerprint {run.fingerprint[:16]}), {run.questions} questions"
        comments.append(f"On the run {run.name}: {about}, judged by {promise.judge}.")
    # one line each, of printable characters: datasets have any names
    lines = [f"# {line}" for comment in comments for line in wrap(one_line(comment)[:600], 110)]
    lines.append(f"version = {promise.version}")
    further = [*base.tables[_FURTHER], *(name for name in values if name not in before)]
    for table, names in {**base.tables, _FURTHER: further}.items():
        if names:
            lines += ["", f"[{table}]", *(_line(name, values[name], before.get(name)) for name in names)]
    return "\n".join(lines) + "\n"


def _line(name: str, value: float, before: float | None) -> str:
    was = f"  # was {before!r}" if before is not None and before != value else ""
    return f"{name} = {float(value)!r}{was}"
