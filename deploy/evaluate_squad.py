"""`make eval-squad`: questions that people wrote about real prose, asked through a platform on this machine.

The platform starts with an empty index, all paragraphs of the file become its pages, and the questions are
asked without a photo, or with one. What was asked of the same code with the same settings is not asked
again: each state of them has a folder of its own.
"""

import hashlib
import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import anyio
import typer
from rich.console import Console

from chassis.telemetry.logs import configure_logging
from corpus.cli import index
from corpus.ingest import IngestOptions, ingest_pages
from deploy.one_process import started_platform
from deploy.settings import LiteSettings, loreglass_variables
from evaluation.commands.report import show_run, write_report
from evaluation.commands.run import read_dataset, stops_politely
from evaluation.data.model import Dataset
from evaluation.data.squad import PREFIX, SquadChoice
from evaluation.judging.rule_judge import RuleJudge
from evaluation.judging.text import APPROXIMATE
from evaluation.runs.asking import Asking
from evaluation.runs.running import ask_several, connect, write_pages
from evaluation.scoring.protocols import Protocol

_MEASURED = ("chassis", "corpus", "gateway", "language", "loreglass_client", "proto/contracts", "services")
_ROOT = Path(__file__).resolve().parents[1]

app = typer.Typer(add_completion=False)


@app.command()
def main(
    file: Annotated[Path, typer.Argument(help="SQuAD 1.1 or 2.0", exists=True, dir_okay=False)],
    limit: Annotated[int, typer.Option(min=1, help="questions at most")] = 300,
    unanswerable: Annotated[int, typer.Option(min=0, help="how many of them have no answer")] = 100,
    every: Annotated[bool, typer.Option("--all", help="every question of the file instead")] = False,
    seed: Annotated[int, typer.Option(help="chooses the questions")] = 1,
    articles: Annotated[list[str] | None, typer.Option(help="ask about these only", metavar="A,B")] = None,
    leave_out: Annotated[list[str] | None, typer.Option(help="ask about all but", metavar="A,B")] = None,
    alone: Annotated[
        bool, typer.Option("--alone", help="index only the articles that are asked about")
    ] = False,
    photo: Annotated[Path | None, typer.Option(help="sent with every question", exists=True)] = None,
    pipeline: Annotated[str, typer.Option(help="which one answers")] = "loreglass",
    concurrency: Annotated[int, typer.Option(min=1, help="questions at once")] = 2,
    fresh: Annotated[bool, typer.Option("--fresh", help="index and ask again")] = False,
) -> None:
    """Index FILE's paragraphs, ask what has not been asked, and print what it came to."""
    configure_logging("warning")
    choice = SquadChoice(
        articles=tuple(articles or ()),
        left_out=tuple(leave_out or ()),
        unanswerable=None if every else unanswerable,
        photo=photo,
    )
    most, drawn = (None, None) if every else (limit, seed)
    dataset = read_dataset(f"{PREFIX}{file}", limit=most, seed=drawn, squad=choice)
    if alone:
        titles = {each.turns[0].domain for each in dataset.conversations}
        dataset = replace(dataset, texts=tuple(each for each in dataset.texts if each.title in titles))
    name = f"{file.stem}-alone" if alone else file.stem
    folder = Path("var/eval/squad") / f"{name}-{state_of_platform()[:8]}"
    if fresh:
        shutil.rmtree(folder, ignore_errors=True)
    facts: dict[str, object] = {"limit": most, "seed": drawn, "squad": choice.model_dump(mode="json")}
    run = folder / "runs" / hashlib.sha256(dataset.fingerprint.encode()).hexdigest()[:8]
    with (
        started_platform(LiteSettings(port=0, service_port=0, data_dir=folder / "index")) as started,
        stops_politely(),
    ):
        pages = write_pages(dataset.texts, folder)
        if index(
            ingest_pages, "pages", pages, started.service_urls["text_search"], IngestOptions(replace=True)
        ):
            sys.exit("The paragraphs could not be indexed.")
        anyio.run(_ask, started.gateway_url, dataset, run, pipeline, Asking(concurrency), facts)
    show_run(run / pipeline, Console())
    written = write_report(
        [run / pipeline],
        folder / "report",
        judge=RuleJudge.name,
        protocol=Protocol.CRAG_MM_2026,
        cut=APPROXIMATE,
    )
    typer.echo(f"run: {run / pipeline}\nreport: {written}")


def state_of_platform() -> str:
    """Return a digest of all that the platform's answers depend on: its files, and the environment."""
    digest = hashlib.sha256(json.dumps(loreglass_variables()).encode())
    for part in _MEASURED:
        for path in sorted((_ROOT / part).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(path.relative_to(_ROOT).as_posix().encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


async def _ask(
    url: str, dataset: Dataset, run: Path, pipeline: str, asking: Asking, facts: dict[str, object]
) -> None:
    async with connect(url) as gateway:
        await ask_several(dataset, run, [pipeline], asking, gateway, facts)


if __name__ == "__main__":
    app()
