"""The `loreglass` command line: ask the platform, and bring your own photos and pages."""

import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from chassis.validation import from_environment
from clients.keys import app as keys_app
from clients.settings import ClientSettings
from clients.showing import plain, show_answer, show_explanation
from corpus.cli import app as index_app
from loreglass_client import Loreglass, LoreglassError
from loreglass_client.models import Experiment

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__)
app.add_typer(index_app, name="index", help="Add photos of known things, or pages, to the index.")
app.add_typer(keys_app, name="key")


def _print_version(is_on: bool) -> None:
    if is_on:
        sys.stdout.write(f"loreglass {version('loreglass')}\n")
        raise typer.Exit


@app.callback()
def root(
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    """Loreglass answers questions about what you see, with sources, or says that it does not know."""


@app.command()
def ask(
    words: Annotated[
        list[str],
        typer.Argument(metavar="[PHOTO] QUESTION", help="a photo of what you see, and your question"),
    ],
    session: Annotated[str | None, typer.Option(help="continue this conversation")] = None,
    deadline_ms: Annotated[int | None, typer.Option(help="the longest time to wait, in milliseconds")] = None,
    pipeline: Annotated[
        str | None, typer.Option(help="the pipeline; GET /v1/models of the gateway lists them")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="explain the answer, if the gateway allows it")
    ] = False,
    gateway: Annotated[str | None, typer.Option(help="the gateway's URL")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print the whole reply as JSON")] = False,
) -> None:
    """Ask a question, with or without a photo. If a key is required, set LOREGLASS_API_KEY."""
    photo, question = _photo_and_question(words)
    settings, experiment = from_environment(ClientSettings), Experiment(explain=True) if explain else None
    url, key = gateway or settings.gateway_url, settings.api_key.get_secret_value()

    try:
        with Loreglass(url, key) as client:
            answer = client.ask(
                question,
                photo,
                session_id=session,
                deadline_ms=deadline_ms,
                pipeline=pipeline,
                experiment=experiment,
            )
    except LoreglassError as error:
        where = "" if url in error.detail else f" (gateway: {url})"
        Console(stderr=True).print(plain(f"{error.detail}{where}", "red"), soft_wrap=True)
        sys.exit(1)
    if as_json:
        sys.stdout.write(answer.model_dump_json(indent=2) + "\n")
    else:
        show_answer(answer, Console())
        if answer.explanation is not None:
            show_explanation(answer.explanation, Console())


@app.command()
def mcp(gateway: Annotated[str | None, typer.Option(help="the gateway's URL")] = None) -> None:
    """Serve assistants over MCP (stdio). If a key is required, set LOREGLASS_API_KEY."""
    try:
        from clients.mcp_server import serve
    except ModuleNotFoundError as error:
        if error.name not in ("mcp", "mcp_types"):
            raise
        sys.exit(
            'The MCP server needs a further package. Install it with: pip install "loreglass[pocket,mcp]"'
        )
    settings = from_environment(ClientSettings)
    try:
        serve(gateway or settings.gateway_url, settings.api_key.get_secret_value())
    except LoreglassError as error:
        sys.exit(error.detail)


def _photo_and_question(words: list[str]) -> tuple[Path | None, str]:
    *photos, question = words
    if len(photos) > 1:
        raise typer.BadParameter("give one photo and one question; put quotation marks around the question")
    path = Path(photos[0]) if photos else None
    if path is not None and not path.is_file():
        raise typer.BadParameter(f"No photo at {path}.")
    return path, question
