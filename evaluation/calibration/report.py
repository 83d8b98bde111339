"""A promise in the terminal, and the thresholds file."""

import tomllib
from pathlib import Path
from textwrap import wrap

from rich.console import Console
from rich.table import Table

from evaluation.calibration.promise import Base, Promise
from evaluation.calibration.replay import CalibrationError, Signals, unmeasured_of
from evaluation.judging.text import one_line
from evaluation.scoring.intervals import Interval


def show(promise: Promise, console: Console) -> None:
    """Print the chosen thresholds, their rates, and the check on other questions."""
    check = promise.check
    datasets = ", ".join(source.dataset for source in promise.runs)
    lines = [promise.aim, f"{promise.pipeline} on {datasets}, judged by {promise.judge}"]
    lines += [f"{name}: {was:g}, now {now:g}" for name, (was, now) in promise.changed.items()]
    if not promise.changed:
        lines.append("nothing changes")
    for source in [*promise.runs, *(check.runs if check else [])]:
        if source.degraded:
            counts = f"{source.degraded} of {source.questions}"
            lines.append(f"{source.folder}: {counts} were answered without a stage. Was the machine busy?")
    for line in lines:
        console.print(plain(line), markup=False, highlight=False)
    console.print(_figures(promise))
    for where, change in (("where chosen", promise), ("in the check", check)):
        if change:
            low, high = change.gain.low, change.gain.high
            line = f"truthfulness {where}: {low:+.3f} to {high:+.3f} against before (95 %)"
            console.print(line, highlight=False)
    if check:
        console.print(check.sentence, markup=False, highlight=False)


def _figures(promise: Promise) -> Table:
    rows = {"before": promise.before, "after": promise.after, "elsewhere (cross-validated)": promise.expected}
    if check := promise.check:
        rows |= {"check, before": check.before, "check, after": check.after}
    table = Table()
    for heading in ("in %", "n", "right", "missing", "wrong (95 %)", "truthfulness (95 %)"):
        table.add_column(heading, no_wrap=True)
    for name, row in rows.items():
        if row:
            wrong = _percent(row.hallucination, row.hallucination_range)
            truth = _percent(row.truthfulness, row.truthfulness_range)
            shares = (f"{100 * share:.1f}" for share in (row.accuracy, row.missing))
            table.add_row(name, str(row.questions), *shares, wrong, truth)
    return table


def _percent(value: float, interval: Interval) -> str:
    return f"{100 * value:.1f} ({100 * interval.low:.1f}–{100 * interval.high:.1f})"


def comments_of(promise: Promise, signals: Signals) -> list[str]:
    """Return the header of a thresholds file: aim and runs; the promise has its own file."""
    lines = [
        f"Chosen on {promise.made_at} by `loreglass eval calibrate` for {promise.pipeline}.",
        promise.aim,
    ]
    for source in promise.runs:
        about = f"{source.dataset} (fingerprint {source.fingerprint[:16]}), {source.questions} questions"
        lines.append(f"On the run {source.name}: {about}, judged by {promise.judge}.")
    return lines + unmeasured_lines(signals)


def unmeasured_lines(signals: Signals) -> list[str]:
    """Return what to say of answers without a measured confidence; nothing if there are none."""
    unmeasured = unmeasured_of(signals)
    return (
        [f"answer_confidence: {unmeasured} answers have none (not measured), and pass it."]
        if unmeasured
        else []
    )


VERSION = "version"
_FURTHER = "further"
_WIDTH = 112
_LONGEST = 600


def read_base(path: Path) -> Base:
    """A thresholds file. Raises `CalibrationError` when it is none."""
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise CalibrationError(f"{path} cannot be read; --base names the gateway's file.") from error
    except ValueError as error:
        raise CalibrationError(f"{path} is not TOML: {error}.") from error
    version = content.pop(VERSION, None)
    tables = {name: table for name, table in content.items() if isinstance(table, dict)}
    tables[_FURTHER] = {name: value for name, value in content.items() if name not in tables}
    numbers = [value for table in tables.values() for value in table.values()]
    if not isinstance(version, int) or not all(isinstance(value, int | float) for value in numbers):
        raise CalibrationError(f"{path} is not a thresholds file: it holds a version and numbers.")
    return Base(version, tables)


def render(promise: Promise, base: Base, comments: list[str]) -> str:
    """All values by the base's tables; what differs from the base says what it was."""
    before, values = base.values, promise.thresholds
    lines = [f"# {line}" for comment in comments for line in wrap(plain(comment, _LONGEST), _WIDTH - 2)]
    lines.append(f"{VERSION} = {promise.version}")
    further = [*base.tables[_FURTHER], *(name for name in values if name not in before)]
    for table, names in {**base.tables, _FURTHER: further}.items():
        if names:
            lines += ["", f"[{table}]", *(_line(name, values[name], before.get(name)) for name in names)]
    return "\n".join(lines) + "\n"


def _line(name: str, value: float, before: float | None) -> str:
    was = f"  # was {before!r}" if before is not None and before != value else ""
    return f"{name} = {float(value)!r}{was}"


def plain(text: str, longest: int = _WIDTH) -> str:
    """One line of printable characters: a comment ends with its line, and datasets have any names."""
    return one_line(text)[:longest]
