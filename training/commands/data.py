"""`loreglass train data`: data sets from evaluation runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluation.commands.run import Split
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
from training.samples import HELD_OUT_SHARE, Task, Wrong

if TYPE_CHECKING:
    from training.data.building import DataSet, Plan


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
