"""Judges for commands, and errors that end a command with one sentence."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluation.commands.run import refuse
from evaluation.judging.verdicts import Choice

if TYPE_CHECKING:
    from evaluation.judging.verdicts import Judge
    from training.data.referee import Referee

JudgedBy = Annotated[Choice, typer.Option("--judge", help="of answers and results: rules or model")]
BaseUrl = Annotated[str, typer.Option(help="of a model; else LOREGLASS_JUDGE_URL")]
ModelName = Annotated[str, typer.Option("--model", help="its name there; else LOREGLASS_JUDGE_MODEL")]
Concurrency = Annotated[int, typer.Option(min=1, max=64, help="questions to a model at once")]


def no_people(choice: Choice) -> None:
    """Raise `typer.BadParameter` if people are to judge."""
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


@contextmanager
def says_why() -> Iterator[None]:
    """End the process with 1 and a sentence if settings, data or a server are wrong."""
    from chassis.models.pretrained import WrongWeights
    from chassis.startup import CannotStart
    from evaluation.data.model import EvaluationError
    from training.config import WrongConfig
    from training.grpo.rollout import ServicesDown
    from training.models import CannotMerge
    from training.runs import RunRefused
    from training.samples import UnreadableData

    of_training = (CannotMerge, RunRefused, ServicesDown, UnreadableData, WrongConfig)
    try:
        yield
    except (EvaluationError, *of_training, CannotStart, WrongWeights) as error:
        refuse(str(error))
    except KeyboardInterrupt:
        refuse("Stopped. What is done is kept: the same command goes on from there.", 130)
