"""`make test-real-models [GGUF="a.gguf b.gguf"] [FILE=squad.json]`: the platform and the same model alone."""

import sys
from pathlib import Path
from typing import Annotated

import anyio
import typer
from rich.console import Console
from rich.table import Table

from chassis.telemetry.logs import configure_logging
from evaluation.commands.run import read_dataset
from evaluation.data.model import Dataset
from evaluation.data.squad import PREFIX, SquadChoice
from evaluation.reporting.tally import outcome_cells, outcome_table
from tests.real_models.comparison import ALONE, System, compare
from tests.real_models.llama import build_server, serving, small_model

QUESTIONS = Path(__file__).with_name("questions.json")
OUT = Path("var/real_models")
PIPELINES = "loreglass qa-dragon three-step wiki-prf direct-rag crag-mm-task-2"

app = typer.Typer(add_completion=False)


@app.command()
def main(
    models: Annotated[
        list[Path] | None, typer.Argument(help="GGUF files; none: SmolLM2 135M", exists=True)
    ] = None,
    file: Annotated[Path, typer.Option(help="questions in SQuAD's format", exists=True)] = QUESTIONS,
    limit: Annotated[int, typer.Option(min=1, help="questions")] = 30,
    unanswerable: Annotated[int, typer.Option(min=0, help="of them without an answer")] = 8,
    seed: Annotated[int, typer.Option(help="chooses the questions")] = 1,
    pipelines: Annotated[str, typer.Option(help="asked beside the model alone")] = PIPELINES,
    deadline_s: Annotated[float, typer.Option(min=1, help="of each question to the platform")] = 60.0,
    context: Annotated[int, typer.Option(help="tokens that the server keeps")] = 8192,
) -> None:
    """Ask the same questions of each model alone and of the platform with it; print one table a model."""
    configure_logging("error")
    console = Console(width=140)
    dataset = chosen_questions(file, limit, unanswerable, seed)
    systems = [ALONE, *pipelines.split()]
    build_server()
    for model in models or [small_model()]:
        folder = OUT / model.stem / f"{file.stem}-{limit}-{unanswerable}-{seed}"
        with serving(model, "--ctx-size", str(context)) as url:
            compared = anyio.run(compare, url, dataset, systems, folder, int(1000 * deadline_s))
        console.print(table(model.stem, compared))
        console.print(f"Prompts, replies and evidence: {folder}")


def chosen_questions(file: Path, limit: int, unanswerable: int, seed: int) -> Dataset:
    """Return the seeded questions of a file in SQuAD's format, and all of its paragraphs."""
    choice = SquadChoice(unanswerable=unanswerable)
    return read_dataset(f"{PREFIX}{file}", squad=choice, limit=limit, seed=seed)


def table(title: str, systems: list[System]) -> Table:
    """Return the comparison as a table."""
    drawn = outcome_table(f"{title}: the model alone, and the platform with it", "system")
    for head in ("s (p50)", "calls", "tokens read", "of them cached"):
        drawn.add_column(head, justify="right")
    for each in systems:
        drawn.add_row(
            each.name,
            *outcome_cells(each.outcomes),
            f"{each.seconds:.1f}",
            f"{each.mean_usage('calls'):.1f}",
            f"{each.mean_usage('prompt_tokens'):.0f}",
            f"{each.cached_share:.0%}",
        )
    return drawn


if __name__ == "__main__":
    sys.exit(app())
