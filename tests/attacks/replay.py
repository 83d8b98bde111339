"""`python -m tests.attacks.replay FILE [--port PORT]`: sends the bytes of a file, and prints the reply.

Without a port it starts a platform of its own, with the keys that the file was made with (`--seed`).
"""

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from tests.attacks.inputs import Input
from tests.attacks.sending import Reply, send
from tests.attacks.target import running_target

_SHOWN = 4_000


def main(
    file: Annotated[Path, typer.Argument(help="as var/attack has it")],
    to: Annotated[str, typer.Option(help="the app that gets it")] = "gateway",
    port: Annotated[int, typer.Option(help="where that app already listens on 127.0.0.1")] = 0,
    seed: Annotated[int, typer.Option(help="of the run that saved it")] = 1,
) -> None:
    """Once."""
    given = Input(file.name, file.read_bytes(), to, cut=True)
    if port:
        reply = asyncio.run(send(given, port))
    else:
        with tempfile.TemporaryDirectory() as folder, running_target(Path(folder), seed) as target:
            reply = asyncio.run(send(given, target.ports[to]))
    _show(reply)


def _show(reply: Reply) -> None:
    sys.stdout.write(
        f"{reply.raw[:_SHOWN].decode(errors='replace')}\n\n{reply.status}, {reply.seconds:.2f} s\n"
    )


if __name__ == "__main__":
    typer.run(main)
