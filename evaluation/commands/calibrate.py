"""`loreglass eval calibrate`: thresholds from a run, a promise, and whether another run keeps it."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluation.commands.judge import model_judge
from evaluation.commands.run import refuse, stops_politely
from evaluation.judging.verdicts import Choice

if TYPE_CHECKING:
    from evaluation.calibration.calibrating import Aim, Calibrated, Evidence
    from evaluation.calibration.proposals import Judging
    from evaluation.calibration.report import Promise

BASE = Path("gateway/thresholds.toml")
_SETTING = "LOREGLASS_GATEWAY_THRESHOLDS"


def calibrate(
    runs: Annotated[list[Path], typer.Argument(metavar="DEV_RUN...", help="folders that `eval run` made")],
    out: Annotated[Path, typer.Option(help="the thresholds file to write", dir_okay=False)],
    best: Annotated[str | None, typer.Option(help="truthfulness, or with a ceiling accuracy")] = None,
    ceiling: Annotated[
        float | None, typer.Option(help="on the share answered wrongly, in 0..1", metavar="SHARE")
    ] = None,
    confidence: Annotated[
        float | None, typer.Option(help="that the ceiling holds, in 0..1; else it holds on average")
    ] = None,
    tune: Annotated[list[str] | None, typer.Option(help="only these", metavar="NAME")] = None,
    check: Annotated[Path | None, typer.Option(help="a run on other questions", metavar="TEST_RUN")] = None,
    base: Annotated[Path, typer.Option(help="the thresholds file to start from", dir_okay=False)] = BASE,
    judge: Annotated[Choice, typer.Option(help="who judges: rules or model")] = Choice.RULES,
    base_url: Annotated[str, typer.Option(help="of a model; else LOREGLASS_JUDGE_URL")] = "",
    model: Annotated[str, typer.Option(help="its name there; else LOREGLASS_JUDGE_MODEL")] = "",
    tokenizer: Annotated[Path | None, typer.Option(help="tokenizer.json to cut answers by")] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=64, help="questions at once")] = 2,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="replace the file")] = False,
) -> None:
    """Choose thresholds on DEV_RUN by replaying it; write them with a guarantee, and --check the guarantee.

    The replay is exact for runs made with --threshold answer_confidence=0 supported=0 judged=0
    token_min=0 token_mean=0 direct_from=1 (each with its own --threshold): then no answer is refused.
    """
    import anyio

    from evaluation.calibration.calibrating import calibrated, checked, promise_of
    from evaluation.calibration.replay import CalibrationError
    from evaluation.calibration.report import read_base
    from evaluation.judging.model_judge import JudgeError
    from evaluation.judging.text import TokenizerError
    from evaluation.judging.verdicts import JudgeDown

    judging = partial(opened_judge, judge, base_url, model, tokenizer, concurrency)
    with stops_politely():
        try:
            aim = _aim(best, ceiling, confidence, tune)
            for path in (out, promise_file(out)):
                if path.exists() and not overwrite:
                    raise CalibrationError(f"{path} is there already; --overwrite replaces it.")
            evidence, test = anyio.run(_collect, runs, check, judging)
            calibration = calibrated(evidence, aim, read_base(base))
            promise = promise_of(calibration)
            if test:
                promise = checked(promise, calibration, test)
            _write(promise, calibration, test, out, overwrite)
        except OSError as error:
            refuse(f"{error.filename or 'A file'} cannot be written: {error.strerror}.")
        except (CalibrationError, JudgeError, JudgeDown, TokenizerError) as error:
            refuse(str(error))


def promise_file(out: Path) -> Path:
    """Return where the promise of a thresholds file is."""
    return out.with_suffix(".promise.json")


def _aim(best: str | None, ceiling: float | None, confidence: float | None, tune: list[str] | None) -> "Aim":
    from evaluation.calibration.calibrating import Best, aim_of
    from evaluation.calibration.replay import REPLAYED, CalibrationError

    if best is not None and best not in set(Best):
        raise CalibrationError(f"{best!r} is none of {', '.join(Best)}.")
    return aim_of(Best(best) if best else None, ceiling, confidence, tune or REPLAYED)


async def _collect(
    folders: list[Path], check: Path | None, opened: "Callable[[], AbstractAsyncContextManager[Judging]]"
) -> "tuple[Evidence, Evidence | None]":
    from evaluation.calibration.calibrating import collect
    from evaluation.runs.store import load_run

    runs = [load_run(folder) for folder in folders]
    async with opened() as judging:
        evidence = await collect(runs, judging)
        return evidence, await collect([load_run(check)], judging) if check else None


@asynccontextmanager
async def opened_judge(
    choice: Choice, base_url: str, model: str, tokenizer: Path | None, concurrency: int
) -> "AsyncIterator[Judging]":
    """The judge of drafts and withheld answers. Raises `CalibrationError` for people, and `JudgeError`."""
    from evaluation.calibration.proposals import Judging
    from evaluation.calibration.replay import CalibrationError
    from evaluation.judging.rule_judge import RuleJudge
    from evaluation.judging.text import open_cut

    if choice is Choice.HUMAN:
        raise CalibrationError("People judged what was said, not what was withheld: --judge rules or model.")
    if choice is Choice.RULES:
        yield Judging(RuleJudge(), open_cut(tokenizer), concurrency)
        return
    async with model_judge(base_url, model) as judge:
        yield Judging(judge, open_cut(tokenizer), concurrency)


def _write(
    promise: "Promise", calibration: "Calibrated", test: "Evidence | None", out: Path, overwrite: bool
) -> None:
    """Write the thresholds and the promise, and print it."""
    from rich.console import Console

    from evaluation.calibration.report import comments_of, render, show, token_basis, write_once

    bases = calibration.evidence.signals, test.signals if test else None
    text = render(promise.thresholds, calibration.base, comments_of(promise, *bases))
    write_once(out, text, overwrite=overwrite)
    for line in token_basis(*bases):
        typer.echo(line, err=True)
    write_once(promise_file(out), promise.model_dump_json(indent=2) + "\n", overwrite=overwrite)
    console = Console()
    show(promise, console)
    told = f"Written: {out} and {promise_file(out)}. To verify: {_SETTING}={out} and ask again."
    console.print(told, markup=False, highlight=False, soft_wrap=True)
