"""`loreglass train data` and `report`: data sets from evaluation runs, and results of trainings."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluation.commands.run import Split
from evaluation.judging.verdicts import Choice
from training.commands.train import says_why
from training.samples import HELD_OUT_SHARE, Task, Wrong

if TYPE_CHECKING:
    from evaluation.judging.verdicts import Judge
    from training.data.building import DataSet, Plan
    from training.data.referee import Referee
    from training.report import RunReport

JudgedBy = Annotated[Choice, typer.Option("--judge", help="of answers and results: rules or model")]
BaseUrl = Annotated[str, typer.Option(help="of a model; else LOREGLASS_JUDGE_URL")]
ModelName = Annotated[str, typer.Option("--model", help="its name there; else LOREGLASS_JUDGE_MODEL")]
Concurrency = Annotated[int, typer.Option(min=1, max=64, help="questions to a model at once")]


def data(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="folders that `eval run` made")],
    out: Annotated[Path, typer.Option(help="the data set's folder", file_okay=False)],
    task: Annotated[
        list[Task] | None, typer.Option(help="what to teach, again for more; else query, rerank, answer")
    ] = None,
    judge: JudgedBy = Choice.RULES,
    base_url: BaseUrl = "",
    model: ModelName = "",
    augment: Annotated[
        int, typer.Option(min=0, max=20, help="other wordings of each right answer, at most; takes a model")
    ] = 0,
    wrong: Annotated[
        Wrong, typer.Option(help="what to answer where the model was wrong: refuse, the gold, or no sample")
    ] = Wrong.REFUSAL,
    split: Split = None,
    held_out: Annotated[float, typer.Option(min=0, max=0.9, help="share of the photos")] = HELD_OUT_SHARE,
    seed: Annotated[int, typer.Option(help="of the split")] = 0,
    concurrency: Concurrency = 4,
) -> None:
    """Make samples to train on from RUNs, which must have been asked with `--model-calls`.

    The tasks question and domain need no answers: there a RUN may be any DATASET that `eval run` takes.
    Run the same command again to continue; nothing is judged twice.
    A judge's key is read from LOREGLASS_JUDGE_KEY.
    """
    import anyio

    from training.data.building import DEFAULT_TASKS, Plan

    no_people(judge)
    if augment and judge is Choice.RULES:
        raise typer.BadParameter("takes a judge that is a model: --judge model", param_hint="--augment")
    plan = Plan(tuple(runs), out, tuple(task or DEFAULT_TASKS), augment, seed, held_out, split, wrong)
    with says_why():
        out.mkdir(parents=True, exist_ok=True)
        data_set = anyio.run(_build, plan, judge, (base_url, model), concurrency)
    _print(data_set)


async def _build(plan: "Plan", choice: Choice, server: tuple[str, str], concurrency: int) -> "DataSet":
    from training.data.building import build

    async with open_referee(choice, server, plan.out, concurrency) as (referee, judge):
        return await build(plan, referee, judge)


def _print(data_set: "DataSet") -> None:
    from rich.console import Console

    from training.samples import counts

    console = Console()
    for task, samples in data_set.samples.items():
        line = ", ".join(f"{name} {count}" for name, count in counts(samples).items()) or "none"
        console.print(f"{task.value}: {line}", markup=False, highlight=False)
    for row in data_set.rejected[:10]:
        console.print(f"left out: {row.where}: {row.why}", markup=False, highlight=False, soft_wrap=True)
    if len(data_set.rejected) > 10:
        console.print(f"left out, too: {len(data_set.rejected) - 10} more", highlight=False)
    for fault in data_set.faults:
        console.print(fault, style="yellow", markup=False, highlight=False, soft_wrap=True)
    if data_set.unjudged:
        waiting = f"{data_set.unjudged} samples wait for the judge: the same command asks again."
        console.print(waiting, style="red", highlight=False)
        raise typer.Exit(1)


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


def no_people(choice: Choice) -> None:
    if choice is Choice.HUMAN:
        raise typer.BadParameter("people judge answers only: rules or model", param_hint="--judge")


@asynccontextmanager
async def open_referee(
    choice: Choice, server: tuple[str, str], folder: Path, concurrency: int
) -> AsyncIterator[tuple["Referee", "Judge"]]:
    """Open a referee for a folder. `server`: a model's URL and name; else the settings'."""
    from evaluation.commands.judge import open_judge
    from training.data.referee import ModelReferee, Referee, open_model

    async with AsyncExitStack() as stack:
        judge = await stack.enter_async_context(open_judge(choice, *server))
        referee = Referee(judge, folder, concurrency)
        if choice is Choice.MODEL:
            model = await stack.enter_async_context(open_model(*server))
            referee = ModelReferee(judge, folder, concurrency, model)
        yield stack.enter_context(referee), judge
