"""`loreglass eval export-drafts`: a run's drafts as rows that a search router can be fitted on."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluation.commands.calibrate import JudgedBy, opened_judge
from evaluation.commands.run import refuse, stops_politely
from evaluation.judging.choice import Choice

if TYPE_CHECKING:
    from evaluation.calibration.drafts import Drafts


def export_drafts(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="a folder that `eval run` made")],
    out: Annotated[Path, typer.Option(help="the file of JSON lines to write", dir_okay=False)],
    judge: Annotated[Choice, typer.Option(help="who judges: rules or model")] = Choice.RULES,
    base_url: Annotated[str, typer.Option(help="of a model; else LOREGLASS_JUDGE_URL")] = "",
    model: Annotated[str, typer.Option(help="its name there; else LOREGLASS_JUDGE_MODEL")] = "",
    tokenizer: Annotated[Path | None, typer.Option(help="tokenizer.json to cut answers by")] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=64, help="questions to a model at once")] = 4,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="replace the file")] = False,
) -> None:
    """Write a line for each draft of RUN: its features, and whether it was right.

    Drafts of questions that were looked up are judged too; no draft is judged twice by a model.
    """
    import anyio

    from evaluation.calibration.cutoffs import CalibrationError
    from evaluation.calibration.threshold_file import write_once
    from evaluation.judging.cut import TokenizerError
    from evaluation.judging.model import JudgeError
    from evaluation.judging.verdicts import JudgeDown
    from evaluation.runs.store import RunError

    with stops_politely():
        try:
            drafts = anyio.run(_judged, run, JudgedBy(judge, base_url, model, tokenizer, concurrency))
            lines = "".join(row.model_dump_json() + "\n" for row in drafts.rows)
            write_once(out, lines, overwrite=overwrite)
        except (CalibrationError, RunError, JudgeError, JudgeDown, TokenizerError) as error:
            refuse(str(error))
        except OSError as error:
            refuse(f"{error.filename or 'A file'} cannot be written: {error.strerror}.")
    right = sum(row.right for row in drafts.rows)
    typer.echo(
        f"{len(drafts.rows)} drafts of {drafts.questions} questions, {right} right. Left out: "
        f"{drafts.fallback} of a fallback, {drafts.unjudged} without a verdict. {out}"
    )


async def _judged(folder: Path, judged: JudgedBy) -> "Drafts":
    from evaluation.calibration.drafts import drafts_of
    from evaluation.runs.store import load_run

    async with AsyncExitStack() as stack:
        return await drafts_of(load_run(folder), await opened_judge(judged, stack))
