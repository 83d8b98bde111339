"""A promise in the terminal, and the thresholds file."""

import tomllib
from pathlib import Path
from textwrap import wrap

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evaluation.calibration.promise import Base, Given, Promise
from evaluation.calibration.replay import CalibrationError, Signals, basis_of, unmeasured_of
from evaluation.judging.text import one_line
from evaluation.scoring.intervals import Interval


def show(promise: Promise, console: Console) -> None:
    """Print the chosen thresholds, their rates, and the check on other questions."""
    check = promise.check
    console.print(f"[bold]{escape(promise.aim)}[/bold]", highlight=False)
    datasets = ", ".join(source.dataset for source in promise.runs)
    about = plain(f"{promise.pipeline} on {datasets}, judged by {promise.judge}")
    console.print(escape(about), highlight=False)
    for source in [*promise.runs, *(check.runs if check else [])]:
        if source.degraded:
            warning = (
                f"{source.folder}: {source.degraded} of {source.questions} were answered without a stage."
            )
            console.print(escape(plain(f"{warning} Was the machine busy?")), style="yellow", highlight=False)
    console.print(_changes(promise))
    rows = {"before": promise.before, "after": promise.after}
    rows |= {"elsewhere*": promise.expected} if promise.expected else {}
    rows |= {"check, before": check.before, "check, after": check.after} if check else {}
    console.print(_figures(rows))
    if promise.expected:
        console.print("* after, every conversation under thresholds chosen on the others")
    _show_gain("where chosen", promise.gain, promise.uncertain, console)
    if check:
        _show_gain("in the check", check.gain, check.uncertain, console)
        style = {True: "green", False: "red", None: "yellow"}[check.kept]
        console.print(escape(check.sentence), style=style, highlight=False)


def _show_gain(where: str, gain: Interval, uncertain: int, console: Console) -> None:
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
        table.add_row(
            name,
            str(row.questions),
            f"{100 * row.accuracy:.1f}",
            f"{100 * row.missing:.1f}",
            _percent(row.hallucination, row.hallucination_range),
            _percent(row.truthfulness, row.truthfulness_range),
        )
    return table


def _percent(value: float, interval: Interval) -> str:
    return f"{100 * value:.1f} ({100 * interval.low:.1f}–{100 * interval.high:.1f})"


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
        lines += [f"On {names}: {_in_words(promise.check.after)}.", promise.check.sentence]
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
