"""`loreglass key new`: keys for those who may ask."""

from enum import StrEnum
from typing import Annotated

import typer

from chassis.keys import TENANT_NAME, ApiKey

app = typer.Typer(help="Make keys for those who may ask.", no_args_is_help=True)


class Highest(StrEnum):
    """The highest priority that a key may ask for."""

    INTERACTIVE = "interactive"
    STANDARD = "standard"
    BACKGROUND = "background"


@app.callback()
def root() -> None:
    """Keys are kept as digests: what is not written down when it is made is lost."""


@app.command()
def new(
    tenant: Annotated[str, typer.Option(help="who will use it", metavar="NAME")],
    priority: Annotated[Highest, typer.Option(help="the highest that it may ask for")] = Highest.INTERACTIVE,
    operator: Annotated[bool, typer.Option("--operator", help="it may also look after the index")] = False,
) -> None:
    """Print a new key, this once, and the lines to add to the gateway's keys file."""
    if TENANT_NAME.fullmatch(tenant) is None:
        raise typer.BadParameter(
            "Use up to 64 letters, digits, dots, dashes or underscores.", param_hint="--tenant"
        )
    key = ApiKey.new()
    typer.echo(key.text)
    typer.echo("\nShown only now: hand it to its tenant. Add these lines to the keys file:\n", err=True)
    typer.echo(entry(key, tenant, priority, operator=operator))


def entry(key: ApiKey, tenant: str, priority: str, *, operator: bool = False) -> str:
    """The key's TOML in the keys file."""
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
