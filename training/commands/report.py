"""`loreglass train report`: what trainings came to, as Markdown."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluation.judging.verdicts import Choice
from training.commands.judging import (
    BaseUrl,
    Concurrency,
    JudgedBy,
    ModelName,
    no_people,
    open_referee,
    says_why,
)

if TYPE_CHECKING:
    from training.report import RunReport


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="folders of finished trainings")],
    out: Annotated[
        Path | None, typer.Option(help="the file; else report.md in the RUN", dir_okay=False)
    ] = None,
    judge: JudgedBy = Choice.RULES,
    base_url: BaseUrl = "",
    model: ModelName = "",
    concurrency: Concurrency = 4,
) -> None:
    """Compare the answers of each RUN's model before and after, with warnings about weak evidence.

    Judgements are kept in the RUN. A judge's key is read from LOREGLASS_JUDGE_KEY.
    """
    import anyio

    from training.report import REPORT, write_report

    no_people(judge)
    if out is None and len(runs) > 1:
        raise typer.BadParameter("say where the report of several runs goes", param_hint="--out")
    page = out or runs[0] / REPORT
    with says_why():
        reports, name = anyio.run(_report, runs, judge, (base_url, model), concurrency)
        write_report(reports, name, page)
    for run in reports:
        for warning in run.warnings:
            typer.echo(f"{run.name}: {warning}", err=True)
    typer.echo(f"Look at it: {page}")
    if any(run.unjudged for run in reports):
        raise typer.Exit(1)


async def _report(
    paths: Sequence[Path], choice: Choice, server: tuple[str, str], concurrency: int
) -> tuple[list["RunReport"], str]:
    from training.report import report_of
    from training.runs import RunFolder

    reports, name = [], ""
    short = len({path.name for path in paths}) == len(paths)
    names = {path: path.name if short else str(path) for path in paths}
    for path in paths:
        run = RunFolder(path)
        run.summary()  # it has ended, or nobody is asked and nothing is written
        async with open_referee(choice, server, path, concurrency) as (referee, _):
            name = referee.name
            reports.append(await report_of(run, names[path], referee.verdict))
    return reports, name
