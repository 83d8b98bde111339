"""`make eval`: a split of the synthetic world, asked through a platform that runs on this machine."""

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer
from anyio.from_thread import start_blocking_portal

from chassis.logs import configure_logging
from corpus.cli import index
from corpus.ingest import ingest_pages, ingest_photos
from deploy.one_process import platform
from deploy.settings import PocketSettings
from evaluation.run import main as evaluate
from evaluation.world.generate import main as generate_world
from evaluation.world.plan import Split

app = typer.Typer(add_completion=False)


@app.command()
def main(
    split: Annotated[Split, typer.Option(help="which world")] = Split.DEV,
    seed: Annotated[int | None, typer.Option(help="another seed than the split's own")] = None,
    limit: Annotated[int | None, typer.Option(help="conversations at most, of each part")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="generate and index again")] = False,
) -> None:
    """Generate the split if it is not there, index it, ask everything, print the tables."""
    configure_logging("warning")
    folder = Path("var/eval") / (split.value if seed is None else f"{split.value}-{seed}")
    if fresh:
        shutil.rmtree(folder, ignore_errors=True)
    world = folder / "world"
    if not (world / "truth.jsonl").exists():
        generate_world(split, world, seed, None)
    settings = PocketSettings(port=0, service_port=0, data_dir=folder / "index")
    with (
        start_blocking_portal(backend_options={"use_uvloop": True}) as portal,
        portal.wrap_async_context_manager(platform(settings)) as running,
    ):
        urls = running.service_urls
        if index(ingest_photos, "images", world / "images.jsonl", urls["image_search"], replace=True):
            sys.exit("The photos could not be indexed.")
        if index(ingest_pages, "pages", world / "pages.jsonl", urls["text_search"], replace=True):
            sys.exit("The pages could not be indexed.")
        evaluate(running.gateway_url, world, folder / "results.jsonl", limit=limit)


if __name__ == "__main__":
    app()
