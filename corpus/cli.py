"""`loreglass index`: `images`, `pages` and `crag-…` build an index, `list` and `rollback` look after it."""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import anyio
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from chassis.errors import DependencyUnavailable, LoreglassError
from chassis.http.calls import ServiceClient, http_client
from chassis.http.client import HttpClient
from chassis.picture_cache import PictureCache
from contracts.collections import PREVIOUS, Collection
from corpus.cluster.command import (
    Address,
    Embed,
    EmbedOption,
    Engine,
    EngineOption,
    Gpus,
    Ingest,
    PartRecords,
    Streams,
    on_ray,
)
from corpus.crag_mm.image_index import Pictures, image_source
from corpus.crag_mm.web_index import page_source
from corpus.ingest import (
    IMAGES,
    PAGES,
    IngestOptions,
    IngestReport,
    index_pages,
    index_photos,
    ingest_pages,
    ingest_photos,
)
from corpus.manifests import ManifestError
from corpus.settings import CorpusSettings, corpus_settings
from corpus.versions import Patience, list_versions, roll_back

PICTURES = Path("var/pictures")
"""Where the pictures of CRAG-MM's image index are kept unless told otherwise."""
MOST_SHOWN = 50
"""Rejected records that are printed; the count is always whole."""

app = typer.Typer(help="Build the index that answers are looked up in.", no_args_is_help=True)


class Index(StrEnum):
    """What can be indexed, by the alias that readers name."""

    IMAGES = IMAGES
    PAGES = PAGES

    @property
    def service(self) -> str:
        """Who holds it."""
        return "image_search" if self is Index.IMAGES else "text_search"

    def url(self, settings: CorpusSettings) -> str:
        """Where that service is."""
        return settings.image_search_url if self is Index.IMAGES else settings.text_search_url


Replace = Annotated[
    bool, typer.Option("--replace", help="Start anew instead of adding to what is published.")
]
ImageSearchUrl = Annotated[str, typer.Option(help="The address of image_search.")]
TextSearchUrl = Annotated[str, typer.Option(help="The address of text_search.")]


@app.command()
def images(
    context: typer.Context,
    manifest: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE", help="a folder of photos, or JSONL: photo, entity, attributes, title?, url?"
        ),
    ],
    replace: Replace = False,
    image_search_url: ImageSearchUrl = "",
    engine: EngineOption = Engine.LOCAL,
    address: Address = "",
    part_records: PartRecords = 1000,
    streams: Streams = 2,
    embed: EmbedOption = Embed.SERVICE,
    gpus: Gpus = 0.0,
) -> None:
    """Index photos of known things.

    In a folder, the names of files say what photos show: "Eiffel Tower.jpg"
    and "eiffel_tower-2.png" show the Eiffel Tower. A digit after "-" or "_",
    a number there that begins with 0, and one in brackets only tell photos of
    one thing apart; "boeing_747.jpg" shows the Boeing 747. Where a camera has
    named the photo (IMG_0001.jpg), the folder that it is in says what it shows.

    Lines of a metadata.jsonl in the folder add attributes, or another name:
    {"file_name": "eiffel_tower-2.png", "entity": "Eiffel Tower", "height": "330 m"}.
    A line holds for other photos of the thing too, unless they have their own.

    Hidden files and folders are passed over; whatever else of a folder cannot
    be indexed is named with the reason.
    """
    url = corpus_settings(image_search_url=image_search_url).image_search_url
    raise typer.Exit(
        index(_chosen(engine, ingest_photos, context, IMAGES), "images", manifest, url, replace=replace)
    )


@app.command()
def pages(
    context: typer.Context,
    source: Annotated[Path, typer.Argument(help="a document, a folder of documents, or JSONL")],
    replace: Replace = False,
    text_search_url: TextSearchUrl = "",
    engine: EngineOption = Engine.LOCAL,
    address: Address = "",
    part_records: PartRecords = 1000,
    streams: Streams = 2,
    embed: EmbedOption = Embed.SERVICE,
    gpus: Gpus = 0.0,
) -> None:
    """Index web pages and documents.

    Formats: HTML, saved pages (MHTML), Markdown, text, PDF, DOCX, XLSX, PPTX,
    EPUB, CSV and TSV.

    Hidden files and folders are passed over; whatever else of a folder cannot
    be indexed is named with the reason.
    """
    url = corpus_settings(text_search_url=text_search_url).text_search_url
    raise typer.Exit(
        index(_chosen(engine, ingest_pages, context, PAGES), "pages", source, url, replace=replace)
    )


def _chosen(engine: Engine, local: Ingest, context: typer.Context, alias: str) -> Ingest:
    if engine is Engine.LOCAL:
        return local
    try:
        return on_ray(context, alias)
    except LoreglassError as error:
        Console().print(f"[red]{escape(error.detail)}[/red]", soft_wrap=True)
        raise typer.Exit(1) from error


@app.command("crag-images")
def crag_images(
    folder: Annotated[Path, typer.Argument(help="a copy of CRAG-MM's published image index")],
    replace: Replace = False,
    photos: Annotated[
        Path | None,
        typer.Option(help="Folder with its pictures, named as in their URLs.", exists=True, file_okay=False),
    ] = None,
    cache: Annotated[Path, typer.Option(help="Where fetched pictures are kept.")] = PICTURES,
    fetch: Annotated[bool, typer.Option(help="Fetch the pictures that are not here.")] = True,
    image_search_url: ImageSearchUrl = "",
) -> None:
    """Index the photos of CRAG-MM's image index; run it again to go on."""
    url = corpus_settings(image_search_url=image_search_url).image_search_url
    pictures = Pictures(PictureCache(cache), photos, fetch)

    async def ingest(source: Path, url: str, options: IngestOptions) -> IngestReport:
        return await index_photos(image_source(source, pictures), url, options)

    raise typer.Exit(index(ingest, "images", folder, url, replace=replace))


@app.command("crag-pages")
def crag_pages(
    folder: Annotated[Path, typer.Argument(help="a copy of CRAG-MM's published web index")],
    replace: Replace = False,
    text_search_url: TextSearchUrl = "",
) -> None:
    """Index the pages of CRAG-MM's web index; run it again to go on."""
    url = corpus_settings(text_search_url=text_search_url).text_search_url

    async def ingest(source: Path, url: str, options: IngestOptions) -> IngestReport:
        return await index_pages(page_source(source), url, options)

    raise typer.Exit(index(ingest, "pages", folder, url, replace=replace))


@app.command("list")
def versions(image_search_url: ImageSearchUrl = "", text_search_url: TextSearchUrl = "") -> None:
    """The versions of each index, and which of them readers see."""
    settings = corpus_settings(image_search_url=image_search_url, text_search_url=text_search_url)
    out, status = Console(), 0
    table = Table("index", "version", "points", "readers")
    for index in Index:
        try:
            held = anyio.run(_versions, index, settings)
        except LoreglassError as error:
            _print_failure(error, index.url(settings), out)
            status = 1
            continue
        for row in _rows(index, held):
            table.add_row(*row)
    if table.rows:
        out.print(table)
    elif not status:
        out.print("Nothing is indexed yet.")
    raise typer.Exit(status)


@app.command()
def rollback(
    index: Annotated[Index, typer.Argument(help="which index to lead back")],
    image_search_url: ImageSearchUrl = "",
    text_search_url: TextSearchUrl = "",
) -> None:
    """Let readers see the version before, at once; once more, and they see the later one again."""
    settings = corpus_settings(image_search_url=image_search_url, text_search_url=text_search_url)
    out = Console()
    try:
        left, now = anyio.run(_roll_back, index, settings)
    except LoreglassError as error:
        _print_failure(error, index.url(settings), out)
        raise typer.Exit(1) from error
    out.print(f"Readers of {index} see {now}. {left} is kept until the next `loreglass index {index}`.")


def _print_failure(error: LoreglassError, url: str, out: Console) -> None:
    """Print what went wrong; of a service that is away, also its address and what to do."""
    out.print(f"[red]{escape(error.detail)}[/red]", soft_wrap=True)
    if isinstance(error, DependencyUnavailable):
        out.print(f"Is the platform running at {url}? Start it with: loreglass serve", soft_wrap=True)


def _service(http: HttpClient, index: Index, settings: CorpusSettings) -> ServiceClient:
    token = settings.access.write_secret()
    return ServiceClient(http, index.service, index.url(settings), token=token)


async def _versions(index: Index, settings: CorpusSettings) -> list[Collection]:
    async with http_client() as http:
        return await list_versions(_service(http, index, settings), Patience())


async def _roll_back(index: Index, settings: CorpusSettings) -> tuple[str, str]:
    async with http_client() as http:
        return await roll_back(_service(http, index, settings), index, Patience())


def _rows(index: Index, held: Sequence[Collection]) -> Iterator[tuple[str, str, str, str]]:
    """What readers see first; then what they saw before; then what is being filled, or was left half full."""
    seen = {index.value: "see it", index.value + PREVIOUS: "saw it before"}
    for alias, readers in seen.items():
        for each in held:
            if alias in each.aliases:
                yield index.value, each.name, _points(each), readers
    for each in held:
        if seen.keys().isdisjoint(each.aliases):
            yield index.value, each.name, _points(each), "do not see it"


def _points(version: Collection) -> str:
    return "does not open" if version.fault else f"{version.points:,}"


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
        _print_failure(error, url, out)
        out.print("Run the same command again: it continues where it stopped.", soft_wrap=True)
        return 1
    except OSError as error:  # of this machine: a disk that is full, a cache that cannot be written
        why = f"{error.filename or 'A file'}: {error.strerror or type(error).__name__}."
        out.print(f"[red]{escape(why)}[/red] Mend it, and run the same command again.", soft_wrap=True)
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
    rejected_in_all = len(report.rejected) + report.not_named
    if rejected_in_all > MOST_SHOWN:
        out.print(f"… and {rejected_in_all - MOST_SHOWN} more.")
    table = Table("", "indexed", "unchanged", "rejected", "published as")
    counts = (report.indexed, report.unchanged, rejected_in_all)
    table.add_row(what, *map(str, counts), report.version or "(nothing new)")
    out.print(table)
