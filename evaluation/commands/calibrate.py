"""`loreglass eval calibrate`: thresholds from a run, a promise, and whether another run keeps it."""

from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluation.commands.judge import model_judge
from evaluation.commands.run import GatewayUrl, gateway_of, opened_dataset, refuse, stops_politely
from evaluation.judging.verdicts import Choice

if TYPE_CHECKING:
    from evaluation.calibration.aim import Aim
    from evaluation.calibration.calibrating import Calibrated, Evidence
    from evaluation.calibration.promise import Promise
    from evaluation.calibration.proposals import Judging
    from evaluation.calibration.threshold_file import Base
    from evaluation.judging.verdicts import Judge
    from evaluation.runs.store import Run

BASE = Path("gateway/thresholds.toml")
_SETTING = "LOREGLASS_GATEWAY_THRESHOLDS"


@dataclass(frozen=True, slots=True)
class _Asked:
    """What of the command concerns runs that must be made."""

    again: list[str]
    dataset: str | None
    gateway: str | None
    concurrency: int


@dataclass(frozen=True, slots=True)
class JudgedBy:
    """What of a command concerns the judge of drafts and withheld answers."""

    choice: Choice
    base_url: str
    model: str
    tokenizer: Path | None
    concurrency: int


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
    ask: Annotated[
        list[str] | None, typer.Option(help="ask again under each of these", metavar="NAME=V1,V2,…")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="what DEV_RUN asked, for --ask")] = None,
    gateway: GatewayUrl = None,
    judge: Annotated[Choice, typer.Option(help="who judges: rules or model")] = Choice.RULES,
    base_url: Annotated[str, typer.Option(help="of a model; else LOREGLASS_JUDGE_URL")] = "",
    model: Annotated[str, typer.Option(help="its name there; else LOREGLASS_JUDGE_MODEL")] = "",
    tokenizer: Annotated[Path | None, typer.Option(help="tokenizer.json to cut answers by")] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=64, help="questions at once")] = 2,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="replace the file")] = False,
) -> None:
    """Choose thresholds on DEV_RUN by replaying it; write them with a promise, and --check the promise.

    The replay is exact for runs made with --threshold answer_confidence=0 supported=0 borderline=1 judged=0
    token_min=0 token_mean=0 direct_from=1 (each with its own --threshold): nothing is then left unsaid.
    """
    from evaluation.calibration.replay import CalibrationError
    from evaluation.calibration.threshold_file import read_base
    from evaluation.judging.cut import TokenizerError
    from evaluation.judging.model_judge import JudgeError
    from evaluation.judging.verdicts import JudgeDown

    judging = JudgedBy(judge, base_url, model, tokenizer, concurrency)
    asked = _Asked(ask or [], dataset, gateway, concurrency)
    with stops_politely():
        try:
            aim = _aim(best, ceiling, confidence, tune)
            _not_there_yet(out, overwrite)
            made = _calibrate(runs, check, aim, read_base(base), judging, asked, out)
            _write(*made, out, overwrite)
            _tell(made[0], out)
        except (CalibrationError, JudgeError, JudgeDown, TokenizerError, OSError) as error:
            refuse(_in_words(error))


def _in_words(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename or 'A file'} cannot be written: {error.strerror}."
    return str(error)


def _aim(best: str | None, ceiling: float | None, confidence: float | None, tune: list[str] | None) -> "Aim":
    from evaluation.calibration.aim import Best, aim_of
    from evaluation.calibration.replay import REPLAYED, CalibrationError

    if best is not None and best not in set(Best):
        raise CalibrationError(f"{best!r} is none of {', '.join(Best)}.")
    return aim_of(Best(best) if best else None, ceiling, confidence, tune or REPLAYED)


def _not_there_yet(out: Path, overwrite: bool) -> None:
    from evaluation.calibration.replay import CalibrationError

    for path in (out, promise_file(out)):
        if path.exists() and not overwrite:
            raise CalibrationError(f"{path} is there already; --overwrite replaces it.")


def promise_file(out: Path) -> Path:
    """Where the promise of a thresholds file is."""
    return out.with_suffix(".promise.json")


def _calibrate(
    runs: list[Path],
    check: Path | None,
    aim: "Aim",
    base: "Base",
    judged: JudgedBy,
    asked: _Asked,
    out: Path,
) -> "tuple[Promise, Calibrated, Evidence | None]":
    import anyio

    from evaluation.calibration.calibrating import calibrated, checked, promise_of

    candidates, test = anyio.run(_collected, runs, check, judged, asked, out)
    calibration = calibrated(candidates, aim, base)
    promise = promise_of(calibration)
    return (checked(promise, calibration, test) if test else promise), calibration, test


def _tell(promise: "Promise", out: Path) -> None:
    from rich.console import Console

    from evaluation.calibration.showing import show

    console = Console()
    show(promise, console)
    told = f"Written: {out} and {promise_file(out)}. To verify: {_SETTING}={out} and ask again."
    console.print(told, markup=False, highlight=False, soft_wrap=True)


async def _collected(
    folders: list[Path], check: Path | None, judged: JudgedBy, asked: _Asked, out: Path
) -> "tuple[list[Evidence], Evidence | None]":
    from evaluation.calibration.calibrating import collect
    from evaluation.runs.store import load_run

    runs = [load_run(folder) for folder in folders]
    async with AsyncExitStack() as stack:
        judging = await opened_judge(judged, stack)
        if asked.again:
            again = await _asked_again(folders, asked, out)
            candidates = [await collect([run], judging) for run in again]
        else:
            candidates = [await collect(runs, judging)]
        return candidates, await collect([load_run(check)], judging) if check else None


async def opened_judge(judged: JudgedBy, stack: AsyncExitStack) -> "Judging":
    """That judge, until the stack is closed. Raises `CalibrationError` for people, and `JudgeError`."""
    from evaluation.calibration.proposals import Judging
    from evaluation.calibration.replay import CalibrationError
    from evaluation.judging.cut import open_cut
    from evaluation.judging.rules import RuleJudge

    judge: Judge = RuleJudge()
    if judged.choice is Choice.HUMAN:
        raise CalibrationError("People judged what was said, not what was withheld: --judge rules or model.")
    if judged.choice is Choice.MODEL:
        judge = await stack.enter_async_context(model_judge(judged.base_url, judged.model))
    return Judging(judge, open_cut(judged.tokenizer), judged.concurrency)


async def _asked_again(folders: list[Path], asked: _Asked, out: Path) -> "list[Run]":
    from evaluation.calibration.asking_again import ask_again, combinations, only_part
    from evaluation.calibration.replay import CalibrationError
    from evaluation.data.squad import SquadChoice
    from evaluation.runs.running import reached
    from evaluation.runs.store import load_run

    settings = combinations(asked.again)
    if len(folders) != 1 or asked.dataset is None:
        raise CalibrationError("--ask needs one DEV_RUN, and its --dataset.")
    like = load_run(folders[0])
    header = like.header
    kept = header.settings.get("squad")
    opened = opened_dataset(
        asked.dataset,
        part=only_part(like),
        limit=header.limit,
        seed=header.seed,
        squad=SquadChoice.model_validate(kept) if kept else None,
    )
    url, key = gateway_of(asked.gateway or header.gateway or None)
    async with reached(url, key) as gateway:
        folder = out.with_suffix(".asked")
        return await ask_again(like, opened, settings, folder, gateway, asked.concurrency)


def _write(
    promise: "Promise", calibration: "Calibrated", test: "Evidence | None", out: Path, overwrite: bool
) -> None:
    """Write the thresholds and the promise."""
    from evaluation.calibration.documents import basis_told, comments_of
    from evaluation.calibration.threshold_file import render, write_once

    text = render(promise.thresholds, calibration.base, comments_of(promise, calibration.evidence, test))
    write_once(out, text, overwrite=overwrite)
    for line in basis_told(calibration.evidence, test):
        typer.echo(line, err=True)
    write_once(promise_file(out), promise.model_dump_json(indent=2) + "\n", overwrite=overwrite)
