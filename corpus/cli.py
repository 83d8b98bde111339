"""`loreglass index`: `images`, `pages` and `wiki-…` build an index; `corpus/lifecycle.py` looks after it."""

import sys
from collections.abc import Callable, Coroutine
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import anyio
import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from chassis.errors import CollectionConflict, LoreglassError, NotSupported, Unauthorized
from chassis.picture_cache import PictureCache
from corpus.articles import Pictures, article_pages, article_pictures
from corpus.ingest import (
    IMAGES,
    PAGES,
    IngestOptions,
    IngestReport,
    index_source,
    ingest_pages,
    ingest_photos,
)
from corpus.lifecycle import ImageSearchUrl, TextSearchUrl, print_failure
from corpus.lifecycle import app as app  # the commands of this module join it
from corpus.manifests import ManifestError
from corpus.settings import corpus_settings

PICTURES = Path("var/pictures")
"""Where the pictures of published indexes are kept unless told otherwise."""
MOST_SHOWN = 50
"""Rejected records that are printed; the count is always whole."""

Ingest = Callable[[Path, str, IngestOptions], Coroutine[Any, Any, IngestReport]]


class Engine(StrEnum):
    LOCAL = "local"
    RAY = "ray"


_option = partial(typer.Option, rich_help_panel="With --engine ray")
EngineOption = Annotated[Engine, typer.Option(help="ray: on many processes or machines.")]
Address = Annotated[str, _option(help="Address of a Ray cluster. Default: start Ray on this machine.")]
PartRecords = Annotated[int, _option(help="Records in a part. A finished part is not indexed again.", min=1)]
Streams = Annotated[int, _option(help="Number of actors that write.", min=1, max=1024)]


Replace = Annotated[bool, typer.Option("--replace", help="Replace the index instead of adding to it.")]
Name = Annotated[
    str, typer.Option(help="Name of the source, which addresses begin with. Default: the folder's name.")
]
Sync = Annotated[
    bool, typer.Option("--sync", help="Remove documents of this source that are not in it any more.")
]


@app.command()
def images(
    manifest: Annotated[
        Path,
        typer.Argument(
            metavar="SOURCE",
            help="photo, folder of photos, or JSONL: photo, entity, attributes, title?, url?",
        ),
    ],
    replace: Replace = False,
    name: Name = "",
    sync: Sync = False,
    image_search_url: ImageSearchUrl = "",
    engine: EngineOption = Engine.LOCAL,
    address: Address = "",
    part_records: PartRecords = 1000,
    streams: Streams = 2,
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
    ingest = _ingestion(engine, ingest_photos, IMAGES, address, part_records, streams)
    raise typer.Exit(index(ingest, "images", manifest, url, IngestOptions(replace, name, sync)))


@app.command()
def pages(
    source: Annotated[Path, typer.Argument(help="a document, a folder of documents, or JSONL")],
    replace: Replace = False,
    name: Name = "",
    sync: Sync = False,
    text_search_url: TextSearchUrl = "",
    ocr_url: Annotated[str, typer.Option(help="The address of ocr, which reads scanned pages.")] = "",
    engine: EngineOption = Engine.LOCAL,
    address: Address = "",
    part_records: PartRecords = 1000,
    streams: Streams = 2,
) -> None:
    """Index web pages and documents.

    Formats: HTML, saved pages (MHTML), Markdown, text, PDF, DOCX, XLSX, PPTX,
    ODT, ODS, ODP, EPUB, CSV and TSV. Scanned pages are read by the OCR service.

    Hidden files and folders are passed over; whatever else of a folder cannot
    be indexed is named with the reason.
    """
    settings = corpus_settings(text_search_url=text_search_url, ocr_url=ocr_url)
    ingest = _ingestion(engine, ingest_pages, PAGES, address, part_records, streams)
    options = IngestOptions(replace, name, sync, ocr_url=settings.ocr_url)
    raise typer.Exit(index(ingest, "pages", source, settings.text_search_url, options))


def _ingestion(
    engine: Engine, local: Ingest, alias: str, address: str, part_records: int, streams: int
) -> Ingest:
    if engine is Engine.LOCAL:
        return local
    try:
        import ray  # noqa: F401 - whether it is installed

        from corpus.cluster.ingest import ClusterOptions, ingest
    except ImportError as error:
        sys.exit(f"{error.name} is not installed here: pip install 'loreglass[ray]'.")
    return partial(ingest, alias, cluster=ClusterOptions(address, part_records, streams))


Photos = Annotated[
    Path | None,
    typer.Option(help="Folder with its pictures, named as in their URLs.", exists=True, file_okay=False),
]
Cache = Annotated[Path, typer.Option(help="Where fetched pictures are kept.")]
Fetch = Annotated[bool, typer.Option(help="Fetch the pictures that are not here.")]
KnowledgeBase = Annotated[
    Path,
    typer.Argument(help="E-VQA's encyclopedic_kb_wiki.json, or EchoSight's knowledge base", dir_okay=False),
]


@app.command("wiki-images")
def wiki_images(
    file: KnowledgeBase,
    replace: Replace = False,
    photos: Photos = None,
    cache: Cache = PICTURES,
    fetch: Fetch = True,
    image_search_url: ImageSearchUrl = "",
) -> None:
    """Index the pictures of a knowledge base of articles. Run it again to resume."""
    url = corpus_settings(image_search_url=image_search_url).image_search_url
    pictures = Pictures(PictureCache(cache), photos, fetch)

    async def ingest(source: Path, url: str, options: IngestOptions) -> IngestReport:
        return await index_source(IMAGES, article_pictures(source, pictures), url, options)

    raise typer.Exit(index(ingest, "images", file, url, IngestOptions(replace)))


@app.command("wiki-pages")
def wiki_pages(file: KnowledgeBase, replace: Replace = False, text_search_url: TextSearchUrl = "") -> None:
    """Index the articles of a knowledge base, section by section. Run it again to resume."""
    url = corpus_settings(text_search_url=text_search_url).text_search_url

    async def ingest(source: Path, url: str, options: IngestOptions) -> IngestReport:
        return await index_source(PAGES, article_pages(source), url, options)

    raise typer.Exit(index(ingest, "pages", file, url, IngestOptions(replace)))


def index(
    ingest: Ingest,
    what: str,
    source: Path,
    url: str,
    options: IngestOptions,
    console: Console | None = None,
) -> int:
    """Run one ingestion with a progress bar and print its counts. Returns the exit status."""
    out = console or Console()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    try:
        with Progress(*columns, console=out) as bar:
            task = bar.add_task(f"Indexing {what}", total=None)
            shown = replace(
                options,
                started=lambda total: bar.update(task, total=total),
                progress=lambda done: bar.update(task, completed=done),
            )
            report = anyio.run(ingest, source, url, shown)
    except ManifestError as error:
        out.print(f"[red]{escape(str(error))}[/red]", soft_wrap=True)
        return 1
    except (CollectionConflict, NotSupported, Unauthorized) as error:
        print_failure(error, url, out)
        return 1
    except LoreglassError as error:
        print_failure(error, url, out)
        out.print("Run the same command again: it continues where it stopped.", soft_wrap=True)
        return 1
    except OSError as error:  # of this machine: a disk that is full, a cache that cannot be written
        why = f"{error.filename or 'A file'}: {error.strerror or type(error).__name__}."
        out.print(f"[red]{escape(why)}[/red] Mend it, and run the same command again.", soft_wrap=True)
        return 1
    show(report, what, out)
    return 0 if report.indexed or report.unchanged or report.removed else 1


def show(report: IngestReport, what: str, out: Console) -> None:
    """The counts, the rejected records with their reasons, and remarks on others."""
    for rejected in report.rejected[:MOST_SHOWN]:
        out.print(
            f"[yellow]{escape(rejected.where)}[/yellow]: {escape(rejected.reason)}",
            highlight=False,
            soft_wrap=True,
        )
    for remark in report.remarks[:MOST_SHOWN]:
        out.print(f"{escape(remark.where)}: {escape(remark.text)}", highlight=False, soft_wrap=True)
    rejected_in_all = len(report.rejected) + report.not_named
    if rejected_in_all > MOST_SHOWN:
        out.print(f"… and {rejected_in_all - MOST_SHOWN} more.")
    table = Table("", "added", "replaced", "unchanged", "removed", "rejected")
    counts = (report.added, report.replaced, report.unchanged, report.removed, rejected_in_all)
    table.add_row(what, *map(str, counts))
    out.print(table)
    out.print(f"Published as {report.version}." if report.version else "There is nothing new to publish.")
