"""`loreglass index images` and `loreglass index pages`."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from chassis.errors import LoreglassError
from corpus.ingest import IngestOptions, IngestReport, ingest_pages, ingest_photos
from corpus.manifests import ManifestError
from corpus.settings import CorpusSettings

MOST_SHOWN = 50
"""Rejected records that are printed; the count is always whole."""

app = typer.Typer(help="Build the index that answers are looked up in.", no_args_is_help=True)

Ingest = Callable[[Path, str, IngestOptions], Coroutine[Any, Any, IngestReport]]
Replace = Annotated[
    bool, typer.Option("--replace", help="Start anew instead of adding to what is published.")
]


@app.command()
def images(
    manifest: Annotated[Path, typer.Argument(help="JSONL: photo, entity, attributes, title?, url?")],
    replace: Replace = False,
    image_search_url: Annotated[str, typer.Option(help="Where image_search listens.")] = "",
) -> None:
    """Index photos of known things."""
    url = image_search_url or CorpusSettings().image_search_url
    raise typer.Exit(index(ingest_photos, "images", manifest, url, replace=replace))


@app.command()
def pages(
    source: Annotated[Path, typer.Argument(help="JSONL, an HTML or text file, or a folder of them")],
    replace: Replace = False,
    text_search_url: Annotated[str, typer.Option(help="Where text_search listens.")] = "",
) -> None:
    """Index web pages and texts."""
    url = text_search_url or CorpusSettings().text_search_url
    raise typer.Exit(index(ingest_pages, "pages", source, url, replace=replace))


def index(
    ingest: Ingest, what: str, source: Path, url: str, *, replace: bool, console: Console | None = None
) -> int:
    """Run one ingestion with a progress bar and print its counts. Returns the exit status."""
    out = console or Console()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, console=out) as bar:
            task = bar.add_task(f"Indexing {what}", total=None)
            options = IngestOptions(
                replace=replace,
                started=lambda total: bar.update(task, total=total),
                progress=lambda done: bar.update(task, completed=done),
            )
            report = anyio.run(ingest, source, url, options)
    except ManifestError as error:
        out.print(f"[red]{escape(str(error))}[/red]", soft_wrap=True)
        return 1
    except LoreglassError as error:
        advice = "Run the same command again to go on from here."
        out.print(f"[red]{escape(error.detail)}[/red] {advice}", soft_wrap=True)
        return 1
    show(report, what, out)
    return 0 if report.indexed or report.unchanged else 1


def show(report: IngestReport, what: str, out: Console) -> None:
    """The counts, and the rejected records with their reasons."""
    for rejected in report.rejected[:MOST_SHOWN]:
        out.print(
            f"[yellow]{escape(rejected.where)}[/yellow]: {escape(rejected.reason)}",
            highlight=False,
            soft_wrap=True,
        )
    if len(report.rejected) > MOST_SHOWN:
        out.print(f"… and {len(report.rejected) - MOST_SHOWN} more.")
    table = Table("", "indexed", "unchanged", "rejected", "published as")
    counts = (report.indexed, report.unchanged, len(report.rejected))
    table.add_row(what, *map(str, counts), report.version or "(nothing new)")
    out.print(table)
