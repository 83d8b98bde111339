"""What `loreglass index … --engine ray` takes, and the ingestion that comes of it."""

from collections.abc import Callable, Coroutine
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from chassis.errors import NotConfigured
from corpus.ingest import PAGES, IngestOptions, IngestReport

Ingest = Callable[[Path, str, IngestOptions], Coroutine[Any, Any, IngestReport]]


class Engine(StrEnum):
    """What goes through the records."""

    LOCAL = "local"
    RAY = "ray"


class Embed(StrEnum):
    """Where vectors are made: in the search service, or in actors that run it themselves."""

    SERVICE = "service"
    ACTORS = "actors"


_option = partial(typer.Option, rich_help_panel="With --engine ray")
EngineOption = Annotated[Engine, typer.Option(help="ray: in parts, on many processes or machines.")]
Address = Annotated[str, _option(help="A Ray cluster's; without it, on this machine.")]
PartRecords = Annotated[int, _option(help="Records in a part; a finished one is not done again.", min=1)]
BlockRecords = Annotated[int, _option(help="Records at once: what a kill loses.", min=1, max=4096)]
Streams = Annotated[int, _option(help="Actors that write.", min=1, max=1024)]
EmbedOption = Annotated[Embed, _option(help="actors: each runs the search service, before the same Qdrant.")]
Gpus = Annotated[float, _option(help="Of a card, for each actor that embeds.", min=0)]
State = Annotated[Path, _option(help="Where digests of what finished parts hold are kept.")]
LeastRecall = Annotated[
    float, _option(help="With less, readers keep the index they have; 0: it is not looked at.", min=0, max=1)
]


def on_ray(context: typer.Context, alias: str) -> Ingest:
    """An ingestion with the command's options. Raises `NotConfigured` where Ray is not installed."""
    try:
        import ray  # noqa: F401 - whether it is there

        from corpus.cluster import ingest
        from corpus.cluster.parts import Sizes
    except ImportError as error:
        raise NotConfigured(f"{error.name} is not installed here: pip install 'loreglass[ray]'.") from error

    told = context.params
    embedders = context.obj or {}
    if told["embed"] == Embed.ACTORS and alias not in embedders:
        raise NotConfigured("The search services are not installed here, so actors cannot run them.")
    options = ingest.ClusterOptions(
        address=told["address"],
        sizes=Sizes(told["part_records"], told["block_records"]),
        streams=told["streams"],
        gpus=told["gpus"],
        embedder=embedders[alias] if told["embed"] == Embed.ACTORS else None,
        state=told["state"],
        least_recall=told["least_recall"],
    )
    return partial(ingest.ingest_pages if alias == PAGES else ingest.ingest_photos, cluster=options)
