"""The figures and promise of a calibration, its check on other questions, and the thresholds file."""

import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap

import numpy as np
from pydantic import BaseModel, ConfigDict
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evaluation.calibration.replay import (
    Bools,
    CalibrationError,
    Cutoffs,
    Floats,
    Signals,
    basis_of,
    rates,
    replay,
    unmeasured_of,
)
from evaluation.data.model import Part
from evaluation.scoring.intervals import Interval, bootstrap
from evaluation.scoring.measures import Measure, Unit

FOLDS = 5
Choose = Callable[[Signals], Cutoffs]


class Given(BaseModel):
    """Results of thresholds: shares of all questions with 95 % intervals over conversations; `risk`: wrong
    among the answered, None where none is.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    questions: int
    sessions: int
    accuracy: float
    accuracy_range: Interval
    acceptable: float
    missing: float
    hallucination: float
    hallucination_range: Interval
    truthfulness: float
    truthfulness_range: Interval
    risk: float | None


def figures(signals: Signals, points: Floats) -> Given:
    """Return the figures of points that were given somehow."""
    found = rates(points)
    return Given(
        questions=found.count,
        sessions=signals.sessions,
        accuracy=found.accuracy,
        accuracy_range=_interval(signals, points == 1.0),
        acceptable=found.acceptable,
        missing=found.missing,
        hallucination=found.hallucination,
        hallucination_range=_interval(signals, points < 0.0),
        truthfulness=found.truthfulness,
        truthfulness_range=_interval(signals, points),
        risk=found.hallucination / found.coverage if found.coverage > 0.0 else None,
    )


def under(signals: Signals, cutoffs: Cutoffs) -> Given:
    """Of a replay."""
    return figures(signals, replay(signals, cutoffs).points)


def gain(signals: Signals, before: Cutoffs, after: Cutoffs) -> Interval:
    """Interval of the difference in truthfulness between two settings on the same questions."""
    return _interval(signals, replay(signals, after).points - replay(signals, before).points)


def cross_validated(signals: Signals, choose: Choose, *, folds: int = FOLDS, seed: int = 0) -> Given | None:
    """Return the figures of every conversation under thresholds chosen on the others.

    Whole conversations are drawn into a fold at random. None if there are too few to leave some out.
    """
    sessions, place = np.unique(signals.session, return_inverse=True)
    if len(sessions) < folds:
        return None
    fold_of = np.empty(len(sessions), np.int64)
    fold_of[np.random.default_rng(seed).permutation(len(sessions))] = np.arange(len(sessions)) % folds
    points = np.zeros(len(signals))
    for fold in range(folds):
        inside = fold_of[place] == fold
        try:
            cutoffs = choose(signals.where(~inside))
        except CalibrationError:
            return None
        points[inside] = replay(signals.where(inside), cutoffs).points
    return figures(signals, points)


def wrong_by_conversation(signals: Signals, cutoffs: Cutoffs) -> tuple[float, float]:
    """Return what a guarantee bounds: the share answered wrongly, every conversation counting alike, and the
    lower end of its 95 % interval.
    """
    wrong = replay(signals, cutoffs).points < 0.0
    _, session = np.unique(signals.session, return_inverse=True)
    share = float((np.bincount(session, wrong) / np.bincount(session)).mean())
    return share, _interval(signals, wrong, by_session=True).low


def _interval(signals: Signals, values: Floats | Bools, *, by_session: bool = False) -> Interval:
    units: Mapping[Unit, float] = {
        (Part.SINGLE, f"{session:08d}", place): float(value)
        for place, (session, value) in enumerate(zip(signals.session, values, strict=True))
    }
    return bootstrap((), Measure("points", lambda _: dict(units), by_session))


class _Stored(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Source(_Stored):
    """A run that was used. `degraded`: questions that were answered without one of the stages."""

    folder: str
    name: str
    dataset: str
    fingerprint: str
    questions: int
    degraded: int


class Check(_Stored):
    """The promise held against other questions. `uncertain`: of how many the replay is not exact."""

    runs: list[Source]
    before: Given
    after: Given
    gain: Interval
    uncertain: int
    kept: bool | None
    told: str


class Promise(_Stored):
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
    ceiling: float | None, expected: Given, found: Given, wrong: tuple[float, float] | None = None
) -> tuple[bool | None, str]:
    """Whether other questions kept the promise, and in what words; None where they are too few to say.

    A ceiling is kept if no more was wrong, broken if the whole interval lies above it. Truthfulness is kept
    if it is not below the interval that was expected, and broken if its own interval lies below that.
    `wrong`: the share that a guarantee bounds and the lower end of its interval.
    """
    if ceiling is None:
        low, high = expected.truthfulness_range.low, found.truthfulness_range.high
        claim = f"truthfulness {found.truthfulness:+.3f} where at least {low:+.3f} was to be expected"
        return _verdict_of(found.truthfulness >= low, high < low, claim)
    share, least = wrong or (found.hallucination, found.hallucination_range.low)
    claim = f"{100 * share:.1f} % were wrong where at most {100 * ceiling:g} % may be"
    if wrong and found.sessions < found.questions:
        claim += " (every conversation counts alike)"
    return _verdict_of(share <= ceiling, least > ceiling, claim)


def _verdict_of(held: bool, missed: bool, claim: str) -> tuple[bool | None, str]:
    if held or missed:
        return held, f"{'Kept' if held else 'Broken'}: {claim}."
    return None, f"Undecided: {claim}, which may be chance."


def show(promise: Promise, console: Console) -> None:
    """Print the chosen thresholds, their rates, and the check on other questions."""
    console.print(f"[bold]{escape(promise.aim)}[/bold]", highlight=False)
    datasets = ", ".join(source.dataset for source in promise.runs)
    about = plain(f"{promise.pipeline} on {datasets}, judged by {promise.judge}")
    console.print(escape(about), highlight=False)
    for source in [*promise.runs, *(promise.check.runs if promise.check else [])]:
        _warn_of_load(source, console)
    console.print(_changes(promise))
    rows = {"before": promise.before, "after": promise.after}
    if promise.expected:
        rows["elsewhere*"] = promise.expected
    if promise.check:
        rows |= {"check, before": promise.check.before, "check, after": promise.check.after}
    console.print(_figures(rows))
    if promise.expected:
        console.print("* after, every conversation under thresholds chosen on the others")
    _gain("where chosen", promise.gain, promise.uncertain, console)
    if promise.check:
        _gain("in the check", promise.check.gain, promise.check.uncertain, console)
        style = {True: "green", False: "red", None: "yellow"}[promise.check.kept]
        console.print(escape(promise.check.told), style=style, highlight=False)


def _warn_of_load(source: Source, console: Console) -> None:
    if source.degraded:
        warning = f"{source.folder}: {source.degraded} of {source.questions} were answered without a stage."
        console.print(escape(plain(f"{warning} Was the machine busy?")), style="yellow", highlight=False)


def _gain(where: str, gain: Interval, uncertain: int, console: Console) -> None:
    line = f"truthfulness {where}: {gain.low:+.3f} to {gain.high:+.3f} against before (95 %)"
    console.print(line, highlight=False)
    if uncertain:
        doubt = "a turn before them changes, their draft was given at once, or no judge was asked"
        console.print(f"  the replay of {uncertain} questions is not exact: {doubt}", highlight=False)


def _changes(promise: Promise) -> Table:
    table = Table(title=f"thresholds, version {promise.version}", title_justify="left", title_style="bold")
    for heading in ("", "was", "is"):
        table.add_column(heading, justify="right" if heading else "left")
    for name, (was, now) in promise.changed.items():
        table.add_row(escape(name), f"{was:g}", f"{now:g}")
    if not promise.changed:
        table.add_row("nothing changes", "", "")
    return table


def _figures(rows: dict[str, Given]) -> Table:
    table = Table(title="what they give, in %", title_justify="left", title_style="bold")
    for heading in ("", "n", "right", "missing", "wrong (95 %)", "truthfulness (95 %)"):
        table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
    for name, row in rows.items():
        wrong, truth = row.hallucination_range, row.truthfulness_range
        table.add_row(
            name,
            str(row.questions),
            f"{100 * row.accuracy:.1f}",
            f"{100 * row.missing:.1f}",
            f"{100 * row.hallucination:.1f} ({100 * wrong.low:.1f}–{100 * wrong.high:.1f})",
            f"{100 * row.truthfulness:.1f} ({100 * truth.low:.1f}–{100 * truth.high:.1f})",
        )
    return table


def comments_of(promise: Promise, signals: Signals, test: Signals | None = None) -> list[str]:
    """Return the header of a thresholds file: values, runs, aim, token basis and expected rates."""
    lines = [
        f"Chosen on {promise.made_at} by `loreglass eval calibrate` for {promise.pipeline}.",
        promise.aim,
    ]
    for source in promise.runs:
        about = f"{source.dataset} (fingerprint {source.fingerprint[:16]}), {source.questions} questions"
        lines.append(f"On the run {source.name}: {about}, judged by {promise.judge}.")
    lines.append(f"There, before: {_in_words(promise.before)}.")
    lines.append(f"There, after: {_in_words(promise.after)}.")
    if promise.expected:
        lines.append(f"To be expected (cross-validated): {_in_words(promise.expected)}.")
    lines += token_basis(signals, test)
    if promise.check:
        names = ", ".join(source.dataset for source in promise.check.runs)
        lines += [f"On {names}: {_in_words(promise.check.after)}.", promise.check.told]
    return lines


def token_basis(signals: Signals, test: Signals | None) -> list[str]:
    """Token thresholds hold for probabilities of one kind: of which, and if the check's are of another."""
    basis = basis_of(signals)
    checked = basis_of(test) if test else basis
    lines = [f"token_min and token_mean: for probabilities {basis}."] if basis else []
    if unmeasured := unmeasured_of(signals):
        lines.append(f"answer_confidence: {unmeasured} answers have none (not measured), and pass it.")
    if checked != basis:
        lines.append(f"The check's are {checked or 'not told'}: there they do not say what they say here.")
    return lines


def _in_words(given: Given) -> str:
    wrong, truth = 100 * given.hallucination, given.truthfulness
    return f"{100 * given.accuracy:.1f} % right, {wrong:.1f} % wrong, truthfulness {truth:+.3f}"


VERSION = "version"
TABLES: Mapping[str, tuple[str, ...]] = {
    "search_router": ("direct_confidence", "direct_from", "verify_from"),
    "image_search": ("same_thing", "decisive"),
    "evidence": ("tau_coarse", "tau_fine"),
    "answer": ("answer_confidence", "supported", "judged", "token_min", "token_mean"),
}
_MEANINGS: Mapping[str, str] = {
    "search_router": "which branch (QA-Dragon, section 3.2, Table 1)",
    "image_search": "which thing (3.4)",
    "evidence": "what is read (3.6.2)",
    "answer": "what is believed (3.7.2)",
}
_FURTHER = "further"
_WIDTH = 112
_LONGEST = 600


@dataclass(frozen=True, slots=True)
class Base:
    """The thresholds that were in force before."""

    version: int
    values: Mapping[str, float]


def read_base(path: Path) -> Base:
    """A thresholds file. Raises `CalibrationError` when it is none."""
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise CalibrationError(f"{path} cannot be read; --base names the gateway's file.") from error
    except ValueError as error:
        raise CalibrationError(f"{path} is not TOML: {error}.") from error
    flat: dict[str, object] = {}
    for key, value in content.items():
        flat.update(value if isinstance(value, dict) else {key: value})
    version = flat.pop(VERSION, None)
    numbers = {name: float(value) for name, value in flat.items() if isinstance(value, int | float)}
    if not isinstance(version, int) or len(numbers) < len(flat):
        raise CalibrationError(f"{path} is not a thresholds file: it holds a version and numbers.")
    return Base(version, numbers)


def render(values: Mapping[str, float], base: Base, comments: Sequence[str]) -> str:
    """All values by table, the version raised by one; what differs from the base says what it was."""
    lines = [f"# {line}" for comment in comments for line in wrap(plain(comment, _LONGEST), _WIDTH - 2)]
    lines.append(f"{VERSION} = {base.version + 1}")
    known = {name for names in TABLES.values() for name in names}
    tables = {**TABLES, _FURTHER: tuple(name for name in values if name not in known)}
    for table, names in tables.items():
        present = [name for name in names if name in values]
        if present:
            meaning = f"  # {_MEANINGS[table]}" if table in _MEANINGS else ""
            lines += ["", f"[{table}]{meaning}", *(_line(name, values[name], base) for name in present)]
    return "\n".join(lines) + "\n"


def write_once(path: Path, text: str, *, overwrite: bool) -> None:
    """All of it or nothing. Raises `CalibrationError` rather than replace a file unasked."""
    if path.exists() and not overwrite:
        raise CalibrationError(f"{path} is there already; --overwrite replaces it.")
    path.parent.mkdir(parents=True, exist_ok=True)
    half = path.with_name(path.name + ".new")
    half.write_text(text, encoding="utf-8")
    os.replace(half, path)


def _line(name: str, value: float, base: Base) -> str:
    before = base.values.get(name)
    was = f"  # was {before!r}" if before is not None and before != value else ""
    return f"{name} = {float(value)!r}{was}"


def plain(text: str, longest: int = _WIDTH) -> str:
    """One line of printable characters: a comment ends with its line, and datasets have any names."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:longest]
