"""The options of `loreglass index … --engine ray`."""

from collections.abc import Callable, Coroutine
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from chassis.errors import NotConfigured
from corpus.ingest import IngestOptions, IngestReport

Ingest = Callable[[Path, str, IngestOptions], Coroutine[Any, Any, IngestReport]]


class Engine(StrEnum):
    """Which engine runs the ingestion."""

    LOCAL = "local"
    RAY = "ray"


_option = partial(typer.Option, rich_help_panel="With --engine ray")
EngineOption = Annotated[Engine, typer.Option(help="ray: on many processes or machines.")]
Address = Annotated[str, _option(help="Address of a Ray cluster. Default: start Ray on this machine.")]
PartRecords = Annotated[int, _option(help="Records in a part. A finished part is not indexed again.", min=1)]
Streams = Annotated[int, _option(help="Number of actors that write.", min=1, max=1024)]


def on_ray(context: typer.Context, alias: str) -> Ingest:
    """Return an ingestion with the command's options. Raises `NotConfigured` if Ray is not installed."""
    try:
        import ray  # noqa: F401 - whether it is installed

        from corpus.cluster.ingest import ClusterOptions, ingest
    except ImportError as error:
        raise NotConfigured(f"{error.name} is not installed here: pip install 'loreglass[ray]'.") from error

    given = context.params
    cluster = ClusterOptions(given["address"], given["part_records"], given["streams"])
    return partial(ingest, alias, cluster=cluster)
