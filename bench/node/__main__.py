"""`python -m bench.node`: serve a node on a loopback port until it is stopped."""

from typing import Annotated

import anyio
import typer

from bench.node.app import NodeApp
from bench.node.pace import PACES
from bench.serving import announced
from chassis.http.serving import listen


def main(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 picks a free one")] = 0,
    pace: Annotated[str, typer.Option(help=" or ".join(PACES))] = "instant",
) -> None:
    """Print one line of JSON with the address, then serve."""
    if pace not in PACES:
        raise typer.BadParameter(f"there is no pace {pace}; there are {' and '.join(PACES)}")
    app = NodeApp(PACES[pace]())
    anyio.run(announced, app, listen("127.0.0.1", port), backend_options={"use_uvloop": True})


if __name__ == "__main__":
    typer.run(main)
