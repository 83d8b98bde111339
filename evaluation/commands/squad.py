"""`loreglass eval squad`: the outcomes of a run on SQuAD's questions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluation.commands.run import refuse

if TYPE_CHECKING:
    from rich.console import Console


def squad(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="folders of runs", show_default=False)],
) -> None:
    """Show RUNs on questions of squad:FILE: outcomes, exact match and F1, risk and coverage.

    By the rule judge: right is what holds a gold answer as whole words.
    """
    from rich.console import Console

    from evaluation.reporting.comparison import ReportError

    try:
        for folder in runs:
            show_run(folder, Console())
    except ReportError as error:
        refuse(str(error))


def show_run(folder: Path, console: "Console") -> None:
    """The tables of one run. Raises `ReportError` where it is none, or one on other questions."""
    from evaluation.judging.cut import APPROXIMATE
    from evaluation.judging.rules import RuleJudge
    from evaluation.reporting.comparison import ReportError
    from evaluation.reporting.loading import judged_run
    from evaluation.reporting.spans import show, span_report
    from evaluation.runs.spans import print_spans

    run = judged_run(folder, RuleJudge.name, APPROXIMATE)
    report = span_report(run)
    if report is None:
        raise ReportError(f"{folder} is no run on questions of SQuAD's kind: see `loreglass eval report`.")
    print_spans(run.header.name, report.scores, console)
    show(run.header.name, report, console)
