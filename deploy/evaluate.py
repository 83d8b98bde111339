"""`make eval`: a split of the synthetic world, asked through a platform that runs on this machine.

What was asked of the same code with the same settings is not asked again, so that an evaluation that was
stopped goes on. Once either has changed, earlier runs are set aside, to be compared with the new ones.
"""

import hashlib
import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import anyio
import typer
from anyio.from_thread import start_blocking_portal
from rich.console import Console

from chassis.telemetry.logs import configure_logging
from corpus.cli import index
from corpus.ingest import ingest_pages, ingest_photos
from deploy.one_process import Platform, platform
from deploy.settings import PocketSettings, told_by_environment
from evaluation.ablation.published import systems_for
from evaluation.commands.ablate import tables_named, write_tables
from evaluation.commands.report import write_report
from evaluation.commands.run import stops_politely
from evaluation.data.model import Dataset
from evaluation.data.opening import open_dataset
from evaluation.judging.cut import APPROXIMATE
from evaluation.judging.rules import RuleJudge
from evaluation.runs.asking import Asking
from evaluation.runs.gateway import reached
from evaluation.runs.several import ask_several
from evaluation.runs.store import load_run
from evaluation.runs.systems import System
from evaluation.runs.tally import print_run
from evaluation.scoring.protocols import Protocol
from evaluation.world.generate import main as generate_world
from evaluation.world.plan import Split

ALL, DEFAULT = "all", "loreglass"
_MEASURED = ("chassis", "corpus", "gateway", "language", "proto/contracts", "services")
_ROOT = Path(__file__).resolve().parents[1]

app = typer.Typer(add_completion=False)


@app.command()
def main(
    split: Annotated[Split, typer.Option(help="which world")] = Split.DEV,
    seed: Annotated[int | None, typer.Option(help="another seed than the split's own")] = None,
    limit: Annotated[int | None, typer.Option(help="conversations at most, of each part")] = None,
    pipelines: Annotated[
        str,
        typer.Option(help="which to ask, `all`, or `qa-dragon-no-reranking` and the like", metavar="NAMES"),
    ] = DEFAULT,
    tables: Annotated[
        str,
        typer.Option(help="the papers' tables instead, as `loreglass eval ablate` has them", metavar="LIST"),
    ] = "",
    concurrency: Annotated[int, typer.Option(min=1, help="conversations at once")] = 2,
    fresh: Annotated[bool, typer.Option("--fresh", help="generate, index and ask again")] = False,
) -> None:
    """Generate the split if it is not there, index it, ask what has not been asked, write the report."""
    configure_logging("warning")
    folder = Path("var/eval") / (split.value if seed is None else f"{split.value}-{seed}")
    if fresh:
        shutil.rmtree(folder, ignore_errors=True)
    world = folder / "world"
    if not (world / "truth.jsonl").exists():
        generate_world(split, world, seed, None)
    runs = folder / ("runs" if limit is None else f"runs-{limit}")
    state = state_of_platform()
    if set_aside(runs, state):
        typer.echo(f"The code or its settings have changed; earlier runs: {runs}-before")
    settings = PocketSettings(port=0, service_port=0, data_dir=folder / "index")
    with started_platform(settings) as started, stops_politely():
        _index(world, started.service_urls, folder / "index" / "state", state)
        names = anyio.run(_chosen, started.gateway_url, pipelines, tables)
    dataset = replace(open_dataset(str(world), limit=limit), name=f"synthetic world, {folder.name}")
    for name in names:
        # Anew for each: the platform remembers photos, and would be quicker with whoever is asked later.
        with started_platform(settings) as started, stops_politely():
            anyio.run(_ask, started.gateway_url, dataset, runs, name, Asking(concurrency))
    if tables:
        asked = [load_run(runs / name) for name in names]
        out = folder / runs.name.replace("runs", "ablation")
        typer.echo(write_tables(asked, dataset.name, RuleJudge.name, tables_named(tables), out))
        return
    written = write_report(
        [runs / name for name in names],
        folder / runs.name.replace("runs", "report"),
        judge=RuleJudge.name,
        protocol=Protocol.KDD_CUP_2025,
        cut=APPROXIMATE,
    )
    typer.echo(f"report: {written}")


def state_of_platform() -> str:
    """A digest of all that the platform's answers depend on: its files and what the environment sets."""
    digest = hashlib.sha256(json.dumps(told_by_environment()).encode())
    for part in _MEASURED:
        for path in sorted((_ROOT / part).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(path.relative_to(_ROOT).as_posix().encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def set_aside(runs: Path, state: str) -> bool:
    """Make room for runs of the platform as it is now; whether there were runs of another state."""
    marker = runs / "state"
    stale = runs.exists() and not (marker.exists() and marker.read_text() == state)
    if stale:
        before = runs.with_name(f"{runs.name}-before")
        shutil.rmtree(before, ignore_errors=True)
        runs.rename(before)
    runs.mkdir(parents=True, exist_ok=True)
    marker.write_text(state)
    return stale


def _index(world: Path, urls: dict[str, str], marker: Path, state: str) -> None:
    if marker.exists() and marker.read_text() == state:
        return
    if index(ingest_photos, "images", world / "images.jsonl", urls["image_search"], replace=True):
        sys.exit("The photos could not be indexed.")
    if index(ingest_pages, "pages", world / "pages.jsonl", urls["text_search"], replace=True):
        sys.exit("The pages could not be indexed.")
    marker.write_text(state)


@contextmanager
def started_platform(settings: PocketSettings) -> Iterator[Platform]:
    """The platform, in a thread of its own until the context ends."""
    with (
        start_blocking_portal(backend_options={"use_uvloop": True}) as portal,
        portal.wrap_async_context_manager(platform(settings)) as started,
    ):
        yield started


async def _ask(url: str, dataset: Dataset, runs: Path, pipeline: str, asking: Asking) -> None:
    async with reached(url) as gateway:
        done = await ask_several(dataset, runs, [pipeline], asking, gateway, {})
    for run, scored in done:
        print_run(run, scored, Console())


async def _chosen(url: str, pipelines: str, tables: str) -> list[str]:
    """The names of the pipelines to ask; raises `GatewayRefuses` where there is no such one."""
    async with reached(url) as gateway:
        if tables:
            return systems_for(tables_named(tables), gateway.pipelines)[0]
        if pipelines.strip() == ALL:
            return sorted(gateway.pipelines, key=lambda name: name != DEFAULT)  # whose failures are shown
        names = list(dict.fromkeys(pipelines.replace(",", " ").split()))
        for name in names:
            gateway.require(System.named(name).pipeline)
        return names


if __name__ == "__main__":
    app()
