"""`make test-real-models [GGUF="a.gguf b.gguf"] [FILE=squad.json]`: the platform and the same model alone."""

import sys
from pathlib import Path
from typing import Annotated

import anyio
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from chassis.telemetry.logs import configure_logging
from evaluation.commands.run import opened_dataset
from evaluation.data.model import Dataset
from evaluation.data.squad import PREFIX, SquadChoice
from tests.real_models.comparison import ALONE, Row, Tally, compare, tally
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
        with serving(model, "--ctx-size", str(context)) as url, Progress(console=console) as progress:
            task = progress.add_task(model.stem, total=len(systems) * len(dataset.conversations))

            def advance(row: Row) -> None:
                progress.update(task, advance=1, description=f"{model.stem}, {row.system}")  # noqa: B023

            rows = anyio.run(compare, url, dataset, systems, folder, int(1000 * deadline_s), advance)
        console.print(table(model.stem, tally(rows, systems)))
        console.print(f"Prompts, replies and evidence: {folder / 'rows.jsonl'}")


def chosen_questions(file: Path, limit: int, unanswerable: int, seed: int) -> Dataset:
    """Return the seeded questions of a file in SQuAD's format, and all of its paragraphs."""
    choice = SquadChoice(unanswerable=unanswerable)
    return opened_dataset(f"{PREFIX}{file}", squad=choice, limit=limit, seed=seed)


def table(title: str, lines: list[Tally]) -> Table:
    """Return the comparison as a table."""
    drawn = Table(title=f"{title}: the model alone, and the platform with it")
    heads = (
        "system",
        "right",
        "wrong",
        "refused",
        "unanswerable answered",
        "s (p50)",
        "calls",
        "tokens read",
        "of them cached",
    )
    for head in heads:
        drawn.add_column(head, justify="left" if head == "system" else "right")
    for line in lines:
        cached = line.cached_tokens / line.prompt_tokens if line.prompt_tokens else 0.0
        drawn.add_row(
            line.system,
            *(f"{count} of {line.answerable}" for count in (line.right, line.wrong, line.refused)),
            f"{line.unanswerable_answered} of {line.unanswerable}",
            f"{line.seconds:.1f}",
            f"{line.calls:.1f}",
            f"{line.prompt_tokens:.0f}",
            f"{cached:.0%}",
        )
    return drawn


if __name__ == "__main__":
    sys.exit(app())
