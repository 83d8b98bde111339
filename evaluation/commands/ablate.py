"""`loreglass eval ablate`: every ablation over the same questions, and QA-Dragon's tables anew."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evaluation.commands.run import (
    Cache,
    Concurrency,
    GatewayUrl,
    Limit,
    NoFetch,
    OnlyPart,
    Seed,
    Source,
    Split,
    gateway_of,
    opened_dataset,
    refuse,
    stops_politely,
)
from evaluation.data.model import Dataset

if TYPE_CHECKING:
    from evaluation.ablation.tables import Systems
    from evaluation.runs.asking import Asking
    from evaluation.runs.store import Run

MARKDOWN, VALUES = "ablation.md", "ablation.json"
_FOLDER_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,80}")


def ablate(
    dataset: Source,
    out: Annotated[Path, typer.Option(help="folder of the runs and the tables", file_okay=False)],
    tables: Annotated[
        str,
        typer.Option(help="QA-Dragon's tables 2, 3, 4, and `own` for Loreglass's modules", metavar="LIST"),
    ] = "2,3,4,own",
    gateway: GatewayUrl = None,
    part: OnlyPart = None,
    split: Split = None,
    limit: Limit = None,
    seed: Seed = None,
    concurrency: Concurrency = 2,
    judge: Annotated[
        str, typer.Option(help="whose verdicts: rules, or model:NAME", metavar="JUDGE")
    ] = "rules",
    no_fetch: NoFetch = False,
    cache: Cache = None,
) -> None:
    """Ask the questions of DATASET with each module left out; write the papers' tables with ours.

    The same command goes on where it stopped: what was asked is not asked again. For a model's verdicts, let
    it judge the runs below the folder (`eval judge`), then give the command again with --judge.
    """
    from evaluation.runs.asking import Asking

    wanted = _tables(tables)
    opened = opened_dataset(
        dataset, part=part, split=split, limit=limit, seed=seed, cache=cache, fetch_images=not no_fetch
    )
    asking = Asking(concurrency=concurrency)
    with stops_politely():
        runs = _asked(opened, out, wanted, asking, gateway, {"limit": limit, "seed": seed})
    _write(_judged(runs, opened, judge), wanted, out)


def _tables(given: str) -> tuple[str, ...]:
    from evaluation.ablation.published import OWN, PAPER_TABLES

    known = (*PAPER_TABLES, OWN)
    names = tuple(dict.fromkeys(name.strip() for name in given.split(",") if name.strip()))
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise typer.BadParameter(f"choose among {', '.join(known)}", param_hint="--tables")
    return names


def _asked(
    opened: Dataset,
    out: Path,
    tables: tuple[str, ...],
    asking: "Asking",
    gateway_url: str | None,
    choice: dict[str, int | None],
) -> "list[Run]":
    import anyio

    from evaluation.ablation.published import systems_for
    from evaluation.runs.gateway import reached
    from evaluation.runs.several import ask_several

    url, key = gateway_of(gateway_url)

    async def work() -> "list[Run]":
        async with reached(url, key) as gateway:
            offered = tuple(name for name in gateway.pipelines if _FOLDER_NAME.fullmatch(name))
            names, absent = systems_for(tables, offered)
            if absent:
                typer.echo(f"not on this gateway: {', '.join(absent)}", err=True)
            done = await ask_several(opened, out / "runs", names, asking, gateway, choice)
            return [run for run, _ in done]

    return anyio.run(work)


def _judged(runs: "list[Run]", opened: Dataset, judge: str) -> "Systems":
    from evaluation.ablation.tables import Systems
    from evaluation.scoring.judged import NotJudged, judged
    from evaluation.scoring.protocols import Protocol

    try:
        scored = {run.header.name: judged(run.records, run.folder, judge)[0] for run in runs}
    except NotJudged as error:
        refuse(str(error))
    return Systems(scored, Protocol.KDD_CUP_2025, judge, opened.name)


def _write(systems: "Systems", wanted: tuple[str, ...], out: Path) -> None:
    from evaluation.ablation.published import OWN, PAPER_TABLES
    from evaluation.ablation.tables import markdown, own_table, paper_table, plain

    if not any(systems.scored.values()):
        refuse("Nothing could be asked, so there is nothing to compare.")
    made = [own_table(systems) if key == OWN else paper_table(PAPER_TABLES[key], systems) for key in wanted]
    page = markdown(made, systems)
    values = json.dumps(plain(made, systems), indent=2, ensure_ascii=False)
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / MARKDOWN).write_text(page, encoding="utf-8")
        (out / VALUES).write_text(values + "\n", encoding="utf-8")
    except OSError as error:
        refuse(f"The tables cannot be written to {out}: {error.strerror}.")
    typer.echo(page)
    typer.echo(f"{out / MARKDOWN}, {out / VALUES}")
