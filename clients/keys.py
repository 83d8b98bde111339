"""`loreglass key new`: make API keys."""

from enum import StrEnum
from typing import Annotated

import typer

from chassis.keys import TENANT_NAME, ApiKey

app = typer.Typer(help="Make API keys.", no_args_is_help=True)


class Highest(StrEnum):
    """The highest priority that a key may request."""

    INTERACTIVE = "interactive"
    STANDARD = "standard"
    BACKGROUND = "background"


@app.callback()
def root() -> None:
    """Only a digest of each key is stored, so a lost key cannot be recovered."""


@app.command()
def new(
    tenant: Annotated[str, typer.Option(help="who will use it", metavar="NAME")],
    priority: Annotated[Highest, typer.Option(help="the highest that it may request")] = Highest.INTERACTIVE,
    operator: Annotated[bool, typer.Option("--operator", help="it may also manage the index")] = False,
) -> None:
    """Print a new key once, and the lines to add to the gateway's keys file."""
    if TENANT_NAME.fullmatch(tenant) is None:
        raise typer.BadParameter(
            "Use up to 64 letters, digits, dots, dashes or underscores.", param_hint="--tenant"
        )
    key = ApiKey.new()
    typer.echo(key.text)
    typer.echo("\nThis key is shown once. Add these lines to the keys file:\n", err=True)
    typer.echo(entry(key, tenant, priority, operator=operator))


def entry(key: ApiKey, tenant: str, priority: str, *, operator: bool = False) -> str:
    """Return the key's TOML for the keys file."""
    return "\n".join(
        [
            "[[key]]",
            f'prefix = "{key.prefix}"',
            f'sha256 = "{key.sha256}"',
            f'tenant = "{tenant}"',
            f'priority = "{priority}"',
            *(["operator = true"] if operator else []),
        ]
    )
