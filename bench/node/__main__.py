"""`python -m bench.node`: serve a node on a loopback port until it is stopped."""

from typing import Annotated

import typer

from bench.node.app import NodeApp
from bench.node.pace import PACES
from bench.processes import serve


def main(
    port: Annotated[int, typer.Option(min=1, max=65535)] = 7200,
    pace: Annotated[str, typer.Option(help=" or ".join(PACES))] = "instant",
) -> None:
    if pace not in PACES:
        raise typer.BadParameter(f"there is no pace {pace}; there are {' and '.join(PACES)}")
    serve(NodeApp(PACES[pace]()), port)


if __name__ == "__main__":
    typer.run(main)
