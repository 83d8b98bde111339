"""`loreglass eval calibrate`: thresholds from a run, a promise, and whether another run keeps it."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import anyio
import typer
from rich.console import Console

from evaluation.commands.judge import BaseUrl, ModelName, open_judge
from evaluation.commands.run import require, stops_politely
from evaluation.judging.text import Cut, open_cut
from evaluation.judging.verdicts import Choice, Judge
from evaluation.runs.store import load_run, write_whole

if TYPE_CHECKING:
    from evaluation.calibration.promise import Base, Promise
    from evaluation.calibration.proposals import Evidence
    from evaluation.calibration.replay import Signals

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
    from evaluation.calibration.promise import choose_thresholds
    from evaluation.calibration.replay import CalibrationError
    from evaluation.calibration.report import read_base

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
        _write(promise, before, out, evidence.signals)


def promise_file(out: Path) -> Path:
    """Return where the promise of a thresholds file is."""
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


def _write(promise: "Promise", base: "Base", out: Path, signals: "Signals") -> None:
    """Write the thresholds and the promise, and print it."""
    from evaluation.calibration.report import comments_of, render, show, unmeasured_lines

    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, render(promise, base, comments_of(promise, signals)))
    for line in unmeasured_lines(signals):
        typer.echo(line, err=True)
    write_whole(promise_file(out), promise.model_dump_json(indent=2) + "\n")
    console = Console()
    show(promise, console)
    line = f"Written: {out} and {promise_file(out)}. To verify: {_SETTING}={out} and ask again."
    console.print(line, markup=False, highlight=False, soft_wrap=True)
