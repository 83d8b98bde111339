"""`loreglass eval calibrate`: choose thresholds on a run, and check their promise on another run."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import anyio
import typer
from rich.console import Console
from rich.table import Table

from evaluation.commands.judge import BaseUrl, ModelName, open_judge
from evaluation.commands.run import require, stops_politely
from evaluation.judging.text import Cut, one_line, open_cut
from evaluation.judging.verdicts import Choice, Judge
from evaluation.runs.store import load_run, write_whole

if TYPE_CHECKING:
    from evaluation.calibration.promise import Base, Promise
    from evaluation.calibration.proposals import Evidence
    from evaluation.scoring.intervals import Interval

BASE = Path("gateway/thresholds.toml")
_SETTING = "LOREGLASS_GATEWAY_THRESHOLDS"


def calibrate(
    runs: Annotated[list[Path], typer.Argument(metavar="DEV_RUN...", help="folders that `eval run` made")],
    out: Annotated[Path, typer.Option(help="the thresholds file to write", dir_okay=False)],
    ceiling: Annotated[
        float | None, typer.Option(help="on the share answered wrongly, in 0..1", metavar="SHARE")
    ] = None,
    check: Annotated[Path | None, typer.Option(help="a run on other questions", metavar="TEST_RUN")] = None,
    base: Annotated[Path, typer.Option(help="the thresholds file to start from", dir_okay=False)] = BASE,
    judge: Annotated[Choice, typer.Option(help="who judges: rules or model")] = Choice.RULES,
    base_url: BaseUrl = "",
    model: ModelName = "",
    tokenizer: Annotated[Path | None, typer.Option(help="tokenizer.json to cut answers by")] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=64, help="questions at once")] = 2,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="replace the file")] = False,
) -> None:
    """Choose thresholds on DEV_RUN by replaying it; write them with what they promise, and --check that.

    The replay is exact for runs made with --threshold answer_confidence=0 supported=0 judged=0
    token_min=0 token_mean=0 direct_from=1 (each with its own --threshold): then no answer is refused.
    """
    require("scipy")
    from evaluation.calibration.promise import choose_thresholds, read_base
    from evaluation.calibration.replay import CalibrationError

    with stops_politely():
        if judge is Choice.HUMAN:
            raise CalibrationError(
                "People judged what was said, not what was withheld: --judge rules or model."
            )
        if ceiling is not None and not 0.0 < ceiling < 1.0:
            raise CalibrationError(
                f"--ceiling {ceiling:g} is not between 0 and 1: 0.02 allows 2 % wrong answers."
            )
        for path in (out, promise_file(out)):
            if path.exists() and not overwrite:
                raise CalibrationError(f"{path} is there already; --overwrite replaces it.")
        opened = partial(open_judge, judge, base_url, model)
        evidence, test = anyio.run(_collect, runs, check, opened, open_cut(tokenizer), concurrency)
        before = read_base(base)
        promise = choose_thresholds(evidence, ceiling, before, test)
        _write(promise, before, out)


def promise_file(out: Path) -> Path:
    return out.with_suffix(".promise.json")


async def _collect(
    folders: list[Path],
    check: Path | None,
    opened: Callable[[], AbstractAsyncContextManager[Judge]],
    cut: Cut,
    concurrency: int,
) -> "tuple[Evidence, Evidence | None]":
    from evaluation.calibration.proposals import Judging, collect

    runs = [load_run(folder) for folder in folders]
    async with opened() as judge:
        judging = Judging(judge, cut, concurrency)
        evidence = await collect(runs, judging)
        return evidence, await collect([load_run(check)], judging) if check else None


def _write(promise: "Promise", base: "Base", out: Path) -> None:
    from evaluation.calibration.promise import render

    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, render(promise, base))
    write_whole(promise_file(out), promise.model_dump_json(indent=2) + "\n")
    console = Console()
    _show(promise, console)
    line = f"Written: {out} and {promise_file(out)}. To verify: {_SETTING}={out} and ask again."
    console.print(line, markup=False, highlight=False, soft_wrap=True)


def _show(promise: "Promise", console: Console) -> None:
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
        console.print(one_line(line), markup=False, highlight=False)
    console.print(_figures(promise))
    for where, change in (("where chosen", promise), ("in the check", check)):
        if change:
            low, high = change.gain.low, change.gain.high
            line = f"truthfulness {where}: {low:+.3f} to {high:+.3f} against before (95 %)"
            console.print(line, highlight=False)
    if check:
        console.print(check.sentence, markup=False, highlight=False)


def _figures(promise: "Promise") -> Table:
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


def _percent(value: float, interval: "Interval") -> str:
    return f"{100 * value:.1f} ({100 * interval.low:.1f}–{100 * interval.high:.1f})"
