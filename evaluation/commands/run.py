"""`loreglass eval run`: ask a gateway every question of a dataset, and store the answers."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, NoReturn

import anyio
import typer
from rich.console import Console

from evaluation.data.model import Dataset, DatasetError, EvaluationError, Part, Text
from evaluation.data.opening import open_dataset, with_targets
from evaluation.data.squad import EVERYTHING, SquadChoice
from evaluation.runs.asking import Asking, RunStopped
from evaluation.runs.running import Task, connect, make_run, write_pages

_SOURCE = (
    "a folder like samples, one of photos and questions, one of CRAG-MM's files, a hub id, or"
    " squad:, infoseek:, evqa: or okvqa:FILE"
)

Source = Annotated[str, typer.Argument(metavar="DATASET", help=_SOURCE, show_default=False)]
GatewayUrl = Annotated[str | None, typer.Option(help="the gateway's URL")]
OnlyPart = Annotated[Part | None, typer.Option(help="only this part")]
Split = Annotated[str | None, typer.Option(help="of a dataset that has several", metavar="NAME")]
Limit = Annotated[int | None, typer.Option(min=1, help="at most so many conversations of a part")]
Seed = Annotated[int | None, typer.Option(help="choose those of --limit at random")]
Concurrency = Annotated[int, typer.Option(min=1, max=64, help="conversations at once")]
Articles = Annotated[
    list[str] | None, typer.Option(help="squad: only these articles, by title", metavar="A,B")
]
LeaveOut = Annotated[list[str] | None, typer.Option(help="squad: all but these articles", metavar="A,B")]
Unanswerable = Annotated[
    int | None, typer.Option(min=0, help="squad: so many of --limit have no answer; else as they come")
]
Photo = Annotated[
    Path | None, typer.Option(help="squad: ask every question with this photo", exists=True, dir_okay=False)
]
NoIndex = Annotated[bool, typer.Option("--no-index", help="squad: its paragraphs are in the index already")]
TextSearchUrl = Annotated[
    str, typer.Option(help="squad: who takes the paragraphs; else LOREGLASS_TEXT_SEARCH_URL")
]
DeadlineMs = Annotated[int | None, typer.Option(min=1, help="for each question")]
Diagnostics = Annotated[
    str,
    typer.Option(
        help="crag-mm: gold of stages, McGill-NLP/crag-mm-diagnostic or its files", metavar="SOURCE"
    ),
]
ModelCalls = Annotated[
    bool, typer.Option("--model-calls", help="keep what the model was asked and wrote, for `train data`")
]


def run(
    dataset: Source,
    out: Annotated[Path, typer.Option(help="the run's folder", file_okay=False)],
    pipeline: Annotated[str | None, typer.Option(help="which one answers", metavar="NAME")] = None,
    gateway: GatewayUrl = None,
    name: Annotated[str, typer.Option(help="the system's name in reports; else the pipeline's")] = "",
    part: OnlyPart = None,
    split: Split = None,
    limit: Limit = None,
    seed: Seed = None,
    concurrency: Concurrency = 2,
    deadline_ms: DeadlineMs = None,
    threshold: Annotated[
        list[str] | None, typer.Option(help="another cut-off, for every question", metavar="NAME=VALUE")
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(help="answer without this module, for every question", metavar="MODULE"),
    ] = None,
    model_calls: ModelCalls = False,
    diagnostics: Diagnostics = "",
    articles: Articles = None,
    leave_out: LeaveOut = None,
    unanswerable: Unanswerable = None,
    photo: Photo = None,
    no_index: NoIndex = False,
    text_search_url: TextSearchUrl = "",
) -> None:
    """Ask a gateway every question of DATASET and keep what comes back.

    Run the same command again to continue; no question is asked twice.
    A gateway's key is read from LOREGLASS_API_KEY.

    Of squad:FILE (SQuAD 1.1 or 2.0) every paragraph is first added to the published index as a page, as
    `loreglass index pages` does it; then the questions are asked without a photo.
    """
    squad = SquadChoice(
        articles=tuple(articles or ()),
        left_out=tuple(leave_out or ()),
        unanswerable=unanswerable,
        photo=photo,
    )
    cut_offs, modules = thresholds_of(threshold or []), tuple(without or ())
    asking = Asking(concurrency, deadline_ms, pipeline, cut_offs, modules, model_calls)
    opened = read_dataset(dataset, diagnostics, part=part, split=split, limit=limit, seed=seed, squad=squad)
    choice = None if squad == EVERYTHING else squad.model_dump(mode="json")
    task = Task(opened, out, asking, name, {"limit": limit, "seed": seed, "squad": choice})
    with stops_politely():
        if opened.texts and not no_index:
            anyio.run(_require_gateway, gateway, pipeline)
            index_texts(opened.texts, out, text_search_url)
        anyio.run(_make, task, gateway)


async def _require_gateway(gateway_url: str | None, pipeline: str | None) -> None:
    """Check that the gateway answers before anything is indexed. Raises `RunStopped`."""
    async with connect(*gateway_of(gateway_url)) as gateway:
        gateway.require(pipeline)


async def _make(task: Task, gateway_url: str | None) -> None:
    from evaluation.reporting.tally import print_summary

    async with connect(*gateway_of(gateway_url)) as gateway:
        made = await make_run(task, gateway)
    print_summary(made, Console())
    if made.stopped:
        raise made.stopped
    if not any(record.answer for record in made.run.records):
        raise RunStopped("No question was answered." if made.run.records else "There was nothing to ask.")


def read_dataset(source: str, diagnostics: str = "", **choice: Any) -> Dataset:
    """Return the dataset, with targets if `diagnostics` is set. An error ends the command."""
    try:
        opened = open_dataset(source, **choice)
        return with_targets(opened, diagnostics) if diagnostics else opened
    except DatasetError as error:
        raise typer.BadParameter(str(error), param_hint="DATASET") from error


def index_texts(texts: Sequence[Text], folder: Path, url: str) -> None:
    """Adds the texts to the published index, as pages; what is there already stays. Ends the command with why
    not.
    """
    from corpus.cli import index
    from corpus.ingest import IngestOptions, ingest_pages
    from corpus.settings import corpus_settings

    pages = write_pages(texts, folder)
    text_search_url = corpus_settings(text_search_url=url).text_search_url
    if index(ingest_pages, "pages", pages, text_search_url, IngestOptions()):
        refuse("The paragraphs could not be indexed; --text-search-url says where, --no-index goes without.")


def gateway_of(url: str | None) -> tuple[str, str]:
    """Return the gateway's URL and key, from the environment if the command does not set them."""
    from chassis.validation import from_environment
    from clients.settings import ClientSettings

    settings = from_environment(ClientSettings)
    return url or settings.gateway_url, settings.api_key.get_secret_value()


def thresholds_of(given: list[str]) -> dict[str, float]:
    """Parse `name=value` pairs; the gateway checks names and limits."""
    thresholds = {}
    for each in given:
        name, _, value = (part.strip() for part in each.partition("="))
        try:
            thresholds[name] = float(value) if name else float("")
        except ValueError as error:
            raise typer.BadParameter(f"{each!r} is not NAME=NUMBER", param_hint="--threshold") from error
    return thresholds


@contextmanager
def stops_politely() -> Iterator[None]:
    """Turn errors that end a command into one sentence."""
    try:
        yield
    except EvaluationError as error:
        refuse(str(error))
    except OSError as error:
        refuse(f"{error.filename or 'A file'} cannot be written: {error.strerror}.")
    except KeyboardInterrupt:
        refuse("Stopped. What is done is kept: the same command goes on from there.", 130)


def require(*packages: str) -> None:
    """End the command where packages of the extra `evaluation-report` are not installed."""
    if missing := [name for name in packages if find_spec(name) is None]:
        extra = "pip install 'loreglass[evaluation-report]'"
        refuse(f"This command needs {', '.join(missing)}: install them with `{extra}`.")


def refuse(why: str, code: int = 1) -> NoReturn:
    """Print one red sentence and end the command."""
    Console(stderr=True).print(why, style="red", markup=False, highlight=False, soft_wrap=True)
    sys.exit(code)
