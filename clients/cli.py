"""The `loreglass` command line: ask the platform, and bring your own photos and pages."""

import sys
from pathlib import Path
from typing import Annotated

import anyio
import typer
from rich.console import Console
from rich.markup import escape

from chassis.errors import LoreglassError
from clients.keys import app as keys_app
from clients.python import LoreglassClient
from clients.settings import ClientSettings
from contracts.answer import Answer
from corpus.cli import app as index_app

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)
app.add_typer(index_app, name="index", help="Add photos of known things, or pages, to what is searched.")
app.add_typer(keys_app, name="key")


@app.callback()
def root() -> None:
    """Loreglass answers questions about what you see, with sources, or says that it does not know."""


@app.command()
def ask(
    photo: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="a photo of what you see")],
    question: Annotated[str, typer.Argument(help="what you want to know")],
    session: Annotated[str | None, typer.Option(help="go on with this conversation")] = None,
    deadline_ms: Annotated[int | None, typer.Option(help="milliseconds that you are willing to wait")] = None,
    gateway: Annotated[str | None, typer.Option(help="the gateway's URL")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the whole reply as JSON")] = False,
) -> None:
    """Ask about PHOTO. Where the gateway wants a key, it is read from LOREGLASS_API_KEY."""
    settings = ClientSettings()
    url, key = gateway or settings.gateway_url, settings.api_key.get_secret_value()

    async def run() -> Answer:
        async with LoreglassClient(url, key=key) as client:
            return await client.ask(question, photo.read_bytes(), session, deadline_ms)

    try:
        answer = anyio.run(run)
    except LoreglassError as error:
        Console(stderr=True).print(f"[red]{escape(error.detail)}[/red] (gateway: {escape(url)})")
        sys.exit(1)
    if as_json:
        sys.stdout.write(answer.model_dump_json(indent=2) + "\n")
    else:
        _show(answer, Console())


def _show(answer: Answer, console: Console) -> None:
    console.print(f"[bold]{escape(answer.answer)}[/bold]")
    for number, citation in enumerate(answer.citations, start=1):
        where = " · ".join(filter(None, (citation.title, citation.url)))
        console.print(f"  [{number}] {escape(where)}: “{escape(citation.snippet.strip())}”", highlight=False)
    facts = [
        f"route {answer.route.value}",
        f"confidence {answer.confidence:.2f}",
        f"{answer.timings_ms.get('total', 0):.0f} ms",
        f"session {answer.session_id}",
    ]
    if answer.abstained:
        facts.insert(0, f"refused: {answer.reason.value}")
    if answer.degraded:
        facts.append("without " + ", ".join(answer.degraded))
    console.print("  " + " · ".join(facts), style="dim", highlight=False)
