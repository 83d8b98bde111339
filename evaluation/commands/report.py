"""`loreglass eval report` and `squad`."""

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from evaluation.commands.run import require, stops_politely
from evaluation.judging.rule_judge import RuleJudge
from evaluation.judging.text import APPROXIMATE, Cut, open_cut
from evaluation.scoring.protocols import Protocol


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="folders of runs", show_default=False)],
    out: Annotated[Path, typer.Option(help="where the report goes", file_okay=False)],
    judge: Annotated[
        str, typer.Option(help="whose verdicts: rules, bem, human, or model:NAME", metavar="JUDGE")
    ] = "rules",
    protocol: Annotated[Protocol, typer.Option(help="which published rules")] = Protocol.KDD_CUP_2025,
    tokenizer: Annotated[Path | None, typer.Option(help="the tokenizer.json that answers are cut by")] = None,
) -> None:
    """Compare RUNs on the questions that all of them asked: report.html and report.json."""
    require("jinja2", "pandas", "scipy")
    with stops_politely():
        cut = open_cut(tokenizer)
        written = write_report(runs, out, judge=judge, protocol=protocol, cut=cut)
    typer.echo(f"report: {written}")


def write_report(
    runs: list[Path], out: Path, *, judge: str, protocol: Protocol, cut: Cut, made_at: float | None = None
) -> Path:
    """Writes everything below `out` and returns the HTML page. `made_at`: Unix seconds, now unless told.

    Raises `ReportError`.
    """
    from evaluation.reporting.analysis import build_report
    from evaluation.reporting.comparison import compare, load_judged_run
    from evaluation.reporting.page import write_files

    comparison = compare([load_judged_run(folder, judge, cut) for folder in runs])
    made_at = time.time() if made_at is None else made_at
    return write_files(build_report(comparison, protocol, judge=judge, cut=cut.name, made_at=made_at), out)


def squad(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="folders of runs", show_default=False)],
) -> None:
    """Show RUNs on questions of squad:FILE: outcomes, exact match and F1, risk and coverage.

    By the rule judge: right is what holds a gold answer as whole words.
    """
    require("pandas")
    with stops_politely():
        for folder in runs:
            show_run(folder, Console())


def show_run(folder: Path, console: Console) -> None:
    """Print the tables of one run. Raises `ReportError` if it is not a run, or a run on other questions."""
    from evaluation.reporting.comparison import ReportError, load_judged_run
    from evaluation.reporting.curves import show, span_report
    from evaluation.reporting.tally import print_spans

    run = load_judged_run(folder, RuleJudge.name, APPROXIMATE)
    report = span_report(run)
    if report is None:
        raise ReportError(f"{folder} is no run on questions of SQuAD's kind: see `loreglass eval report`.")
    print_spans(run.header.name, report.scores, console)
    show(run.header.name, report, console)
