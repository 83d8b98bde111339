"""`loreglass index`: list versions and documents, show, remove and rename documents, and roll back."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Any, TypeVar

import anyio
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from chassis.errors import DependencyUnavailable, LoreglassError, Unauthorized
from chassis.http.calls import ServiceClient, http_client
from contracts.collections import PREVIOUS, Collection
from contracts.documents import LONGEST_LISTING, DocumentContent, Documents
from corpus.documents import DocumentIndex
from corpus.ingest import Index
from corpus.settings import CorpusSettings, corpus_settings, write_token
from corpus.versions import Patience, list_versions, roll_back

Result = TypeVar("Result")
Ask = Callable[[Callable[[ServiceClient], Awaitable[Any]]], Any]

app = typer.Typer(help="Build the index that answers are looked up in.", no_args_is_help=True)
ImageSearchUrl = Annotated[str, typer.Option(help="The address of image_search.")]
TextSearchUrl = Annotated[str, typer.Option(help="The address of text_search.")]
Address = Annotated[str, typer.Argument(help="as `loreglass index list pages` prints it")]


@app.command("list")
def list_held(
    index: Annotated[Index | None, typer.Argument(help="list its documents; without it: versions")] = None,
    find: Annotated[str, typer.Option(help="Letters that the name or address holds.")] = "",
    source: Annotated[str, typer.Option(help="Only documents of this source.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=LONGEST_LISTING, help="Most documents to list.")] = 100,
    image_search_url: ImageSearchUrl = "",
    text_search_url: TextSearchUrl = "",
) -> None:
    """List the versions of each index, or the documents of one."""
    if index is not None:
        with _calls_to(index, image_search_url, text_search_url) as ask:
            _print_documents(
                ask(lambda service: DocumentIndex(service, index).find(find, source, limit=limit))
            )
        return
    settings = corpus_settings(image_search_url=image_search_url, text_search_url=text_search_url)
    out, status = Console(), 0
    table = Table("index", "version", "points", "status")
    for each in Index:
        try:
            held = _call(each, settings, lambda service: list_versions(service, Patience()))
        except LoreglassError as error:
            print_failure(error, _url(each, settings), out)
            status = 1
            continue
        for row in _rows(each, held):
            table.add_row(*row)
    if table.rows:
        out.print(table)
    elif not status:
        out.print("Nothing is indexed yet.")
    raise typer.Exit(status)


@app.command()
def rollback(
    index: Annotated[Index, typer.Argument(help="which index to switch back")],
    image_search_url: ImageSearchUrl = "",
    text_search_url: TextSearchUrl = "",
) -> None:
    """Switch back to the previous version. Run it again to undo."""
    with _calls_to(index, image_search_url, text_search_url) as ask:
        left, now = ask(lambda service: roll_back(service, index, Patience()))
    Console().print(
        f"Live version of {index}: {now}. {left} is kept until the next `loreglass index {index}`."
    )


def print_failure(error: LoreglassError, url: str, out: Console) -> None:
    """Print what went wrong and, for a service that is away or refuses us, what to do."""
    out.print(f"[red]{escape(error.detail)}[/red]", soft_wrap=True)
    if isinstance(error, DependencyUnavailable):
        out.print(f"Is the platform running at {url}? Start it with: loreglass serve", soft_wrap=True)
        out.print("After `serve --service-port PORT`, set LOREGLASS_SERVICE_PORT=PORT here.", soft_wrap=True)
    if isinstance(error, Unauthorized):
        out.print("Set LOREGLASS_SERVICE_WRITE_TOKEN to the write token of the services.", soft_wrap=True)


def _url(index: Index, settings: CorpusSettings) -> str:
    return settings.image_search_url if index is Index.IMAGES else settings.text_search_url


def _call(
    index: Index, settings: CorpusSettings, work: Callable[[ServiceClient], Awaitable[Result]]
) -> Result:
    """Return the result of `work` with the index's service."""

    async def run() -> Result:
        url = _url(index, settings)
        async with http_client() as http:
            return await work(ServiceClient(http, index.service, url, token=write_token(url)))

    return anyio.run(run)


def _rows(index: Index, held: Sequence[Collection]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the live version, the previous one, and then versions that are not complete."""
    statuses = {index.value: "live", index.value + PREVIOUS: "previous"}
    for alias, status in statuses.items():
        for each in held:
            if alias in each.aliases:
                yield index.value, each.name, _points(each), status
    for each in held:
        if statuses.keys().isdisjoint(each.aliases):
            yield index.value, each.name, _points(each), "incomplete"


def _points(version: Collection) -> str:
    return "does not open" if version.fault else f"{version.points:,}"


@app.command()
def show(
    index: Annotated[Index, typer.Argument(help="which index holds it")],
    address: Address,
    image_search_url: ImageSearchUrl = "",
    text_search_url: TextSearchUrl = "",
) -> None:
    """Show the passages of a page, or the attributes of a photo."""
    with _calls_to(index, image_search_url, text_search_url) as ask:
        _print_content(ask(lambda service: DocumentIndex(service, index).show(address)))


@app.command()
def remove(
    index: Annotated[Index, typer.Argument(help="which index holds them")],
    addresses: Annotated[list[str] | None, typer.Argument(help="documents to remove")] = None,
    source: Annotated[str, typer.Option(help="Remove all documents of this source.")] = "",
    image_search_url: ImageSearchUrl = "",
    text_search_url: TextSearchUrl = "",
) -> None:
    """Remove documents. `loreglass index rollback` brings them back until the next change."""
    if not addresses and not source:
        raise typer.BadParameter("Name the documents, or a --source.")
    with _calls_to(index, image_search_url, text_search_url) as ask:
        gone = ask(lambda service: DocumentIndex(service, index).remove(addresses or (), source))
        Console().print(f"Removed {len(gone):,} of {index}." if gone else "There was nothing to remove.")


@app.command()
def rename(
    index: Annotated[Index, typer.Argument(help="which index holds it")],
    address: Address,
    name: Annotated[str, typer.Argument(help="a page's title, or the thing that a photo shows")],
    image_search_url: ImageSearchUrl = "",
    text_search_url: TextSearchUrl = "",
) -> None:
    """Give a document another name. It keeps it until its file changes and is indexed again."""
    with _calls_to(index, image_search_url, text_search_url) as ask:
        _print_content(ask(lambda service: DocumentIndex(service, index).rename(address, name)))


@contextmanager
def _calls_to(index: Index, image_search_url: str, text_search_url: str) -> Iterator[Ask]:
    """Yield a function that runs a call to the service. Errors are printed, and the command exits with 1."""
    settings = corpus_settings(image_search_url=image_search_url, text_search_url=text_search_url)
    try:
        yield partial(_call, index, settings)
    except LoreglassError as error:
        print_failure(error, _url(index, settings), Console())
        raise typer.Exit(1) from error


def _print_documents(listing: Documents) -> None:
    out = Console()
    table = Table("name", "address", "parts")
    for each in listing.documents:
        table.add_row(escape(each.name), escape(each.address), f"{each.parts:,}")
    if listing.documents:
        out.print(table)
    out.print(f"Shown: {len(listing.documents):,} of {listing.found:,}. In the index: {listing.total:,}.")


def _print_content(content: DocumentContent) -> None:
    out = Console()
    lines = {"name": content.name, "title": content.title, "url": content.url, **content.attributes}
    for key, value in lines.items():
        if value:
            out.print(f"[bold]{escape(key)}[/bold]: {escape(value)}", highlight=False, soft_wrap=True)
    for number, passage in enumerate(content.passages, 1):
        out.print(f"\n[bold]passage {number}[/bold]\n{escape(passage)}", highlight=False, soft_wrap=True)
