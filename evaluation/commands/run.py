"""`loreglass eval run`: asks a gateway every question of a dataset, and keeps what comes back."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from evaluation.data.model import Dataset, DatasetError, Part, Text

if TYPE_CHECKING:
    from evaluation.runs.running import Made, Task
    from evaluation.runs.tally import Tally

_SOURCE = (
    "a folder like samples, one of photos and questions, one of CRAG-MM's files, a hub id, or squad:FILE"
)

Source = Annotated[str, typer.Argument(metavar="DATASET", help=_SOURCE, show_default=False)]
GatewayUrl = Annotated[str | None, typer.Option(help="the gateway's URL")]
OnlyPart = Annotated[Part | None, typer.Option(help="only this part")]
Split = Annotated[str | None, typer.Option(help="of a dataset that has several", metavar="NAME")]
Limit = Annotated[int | None, typer.Option(min=1, help="at most so many conversations of a part")]
Seed = Annotated[int | None, typer.Option(help="choose those of --limit at random")]
Concurrency = Annotated[int, typer.Option(min=1, max=64, help="conversations at once")]
NoFetch = Annotated[
    bool, typer.Option("--no-fetch", help="do not fetch photos that the dataset only links to")
]
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
ModelCalls = Annotated[
    bool, typer.Option("--model-calls", help="keep what the model was asked and wrote, for `train data`")
]
Cache = Annotated[Path | None, typer.Option(help="where fetched photos are kept", file_okay=False)]


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
    deadline_ms: Annotated[int | None, typer.Option(min=1, help="for each question")] = None,
    threshold: Annotated[
        list[str] | None, typer.Option(help="another cut-off, for every question", metavar="NAME=VALUE")
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(help="answer without this module, for every question", metavar="MODULE"),
    ] = None,
    no_explain: Annotated[
        bool, typer.Option("--no-explain", help="do not ask for explanations: smaller, but no refusal curve")
    ] = False,
    model_calls: ModelCalls = False,
    no_fetch: NoFetch = False,
    cache: Cache = None,
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
    from evaluation.data.squad import squad_choice
    from evaluation.runs.asking import Asking
    from evaluation.runs.running import Task

    squad = squad_choice(articles or [], leave_out or [], unanswerable, photo)
    cut_offs, modules = thresholds_of(threshold or []), tuple(without or ())
    if no_explain and model_calls:
        raise typer.BadParameter("is told with explanations only", param_hint="--model-calls")
    asking = Asking(concurrency, deadline_ms, pipeline, cut_offs, not no_explain, modules, model_calls)
    chosen = {"part": part, "split": split, "limit": limit, "seed": seed, "squad": squad}
    opened = opened_dataset(dataset, cache=cache, fetch_images=not no_fetch, **chosen)
    kept = squad.model_dump(mode="json") if squad else None
    task = Task(opened, out, asking, name, {"limit": limit, "seed": seed, "squad": kept})
    with stops_politely():
        if opened.texts and not no_index:
            _require_gateway(gateway, pipeline)
            index_texts(opened.texts, out, text_search_url)
        made, tally = _make(task, gateway)
    _close(made, tally)


def _require_gateway(gateway_url: str | None, pipeline: str | None) -> None:
    """Nothing is indexed for a gateway that then does not answer. Raises `RunStopped`."""
    import anyio

    from evaluation.runs.running import reached

    url, key = gateway_of(gateway_url)

    async def work() -> None:
        async with reached(url, key) as gateway:
            gateway.require(pipeline)

    anyio.run(work)


def _make(task: "Task", gateway_url: str | None) -> "tuple[Made, Tally]":
    import anyio

    from evaluation.runs.running import make_run, reached
    from evaluation.runs.tally import Tally, watched

    tally = Tally()
    url, key = gateway_of(gateway_url)

    async def work() -> "Made":
        async with reached(url, key) as gateway:
            with watched(tally, task.turns) as on_record:
                return await make_run(task, gateway, on_record=on_record)

    return anyio.run(work), tally


def _close(made: "Made", tally: "Tally") -> None:
    from rich.console import Console

    from evaluation.runs.tally import print_made

    print_made(made, tally.scored(made.run.records), Console())
    if made.stopped:
        refuse(str(made.stopped))
    if made.run.records and not any(record.answer for record in made.run.records):
        refuse("No question was answered.")
    if not made.run.records:
        refuse("There was nothing to ask.")


def opened_dataset(source: str, **choice: Any) -> Dataset:
    """The dataset, with a progress bar where opening takes long; else ends the command with why not."""
    from evaluation.data.opening import open_dataset
    from evaluation.data.photos import progress_bars

    try:
        with progress_bars() as on_progress:
            return open_dataset(source, on_progress=on_progress, **choice)
    except DatasetError as error:
        raise typer.BadParameter(str(error), param_hint="DATASET") from error


def index_texts(texts: Sequence[Text], folder: Path, url: str) -> None:
    """Adds the texts to the published index, as pages; what is there already stays. Ends the command with why
    not.
    """
    from corpus.cli import index
    from corpus.ingest import ingest_pages
    from corpus.settings import corpus_settings
    from evaluation.runs.running import write_pages

    pages = write_pages(texts, folder)
    if index(
        ingest_pages, "pages", pages, corpus_settings(text_search_url=url).text_search_url, replace=False
    ):
        refuse("The paragraphs could not be indexed; --text-search-url says where, --no-index goes without.")


def gateway_of(url: str | None) -> tuple[str, str]:
    """The gateway's URL and the key for it, from the environment where the command does not say."""
    from chassis.http.serving import from_environment
    from clients.settings import ClientSettings

    settings = from_environment(ClientSettings)
    return url or settings.gateway_url, settings.api_key.get_secret_value()


def thresholds_of(given: list[str]) -> dict[str, float]:
    """`name=value` each; the names and limits are the gateway's to check."""
    thresholds = {}
    for each in given:
        name, _, value = each.partition("=")
        try:
            thresholds[name.strip()] = float(value)
        except ValueError as error:
            raise typer.BadParameter(f"{each!r} is not NAME=NUMBER", param_hint="--threshold") from error
        if not name.strip():
            raise typer.BadParameter(f"{each!r} is not NAME=NUMBER", param_hint="--threshold")
    return thresholds


@contextmanager
def stops_politely() -> Iterator[None]:
    """What ends a run becomes one sentence; what has been answered is kept."""
    from evaluation.runs.asking import RunStopped
    from evaluation.runs.store import RunError

    try:
        yield
    except (RunStopped, RunError) as error:
        refuse(str(error))
    except KeyboardInterrupt:
        refuse("Stopped. What has been answered is kept: the same command goes on from there.", 130)


def refuse(why: str, code: int = 1) -> NoReturn:
    """One red sentence, and the end."""
    from rich.console import Console

    Console(stderr=True).print(why, style="red", markup=False, highlight=False, soft_wrap=True)
    sys.exit(code)
