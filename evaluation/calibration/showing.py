"""A promise in tables, for a terminal."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evaluation.calibration.estimate import Given
from evaluation.calibration.promise import Promise, Source
from evaluation.calibration.threshold_file import plain
from evaluation.scoring.intervals import Interval


def show(promise: Promise, console: Console) -> None:
    """What was chosen, what it gives, and what other questions say."""
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
        told = f"{source.folder}: {source.degraded} of {source.questions} were answered without a stage."
        console.print(escape(plain(f"{told} Was the machine busy?")), style="yellow", highlight=False)


def _gain(where: str, gain: Interval, uncertain: int, console: Console) -> None:
    told = f"truthfulness {where}: {gain.low:+.3f} to {gain.high:+.3f} against before (95 %)"
    console.print(told, highlight=False)
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
