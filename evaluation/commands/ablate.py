"""`loreglass eval ablate`: the papers' tables and figures anew, over the same questions for every system."""

import json
import re
from collections.abc import Sequence
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
    from evaluation.runs.asking import Asking
    from evaluation.runs.store import Run

MARKDOWN, VALUES = "ablation.md", "ablation.json"
LIST = "list"
_FOLDER_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,80}")


def _list_tables(given: str) -> str:
    """`--tables list` needs nothing else."""
    from evaluation.ablation.published import paper_tables

    if given == LIST:
        for table in paper_tables().values():
            typer.echo(f"{table.key}\n    {table.paper}, {table.title}\n    asks {', '.join(table.systems)}")
        raise typer.Exit
    return given


def ablate(
    dataset: Source,
    out: Annotated[Path, typer.Option(help="folder of the runs and the tables", file_okay=False)],
    tables: Annotated[
        str,
        typer.Option(
            help="tables and figures by paper and number, as qa-dragon-4,wiki-prf-8; `list` names them all",
            metavar="LIST",
            callback=_list_tables,
            is_eager=True,
        ),
    ] = "qa-dragon-2,qa-dragon-3,qa-dragon-4,loreglass",
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
    """Ask every system that the tables want the questions of DATASET; write ours beside the papers' figures.

    Run the same command again to continue; no question is asked twice. For a model's verdicts, let
    it judge the runs below the folder (`eval judge`), then give the command again with --judge.
    """
    from evaluation.runs.asking import Asking

    wanted = tables_named(tables)
    opened = opened_dataset(
        dataset, part=part, split=split, limit=limit, seed=seed, cache=cache, fetch_images=not no_fetch
    )
    asking = Asking(concurrency=concurrency)
    with stops_politely():
        runs = _asked(opened, out, wanted, asking, gateway, {"limit": limit, "seed": seed})
    typer.echo(write_tables(runs, opened.name, judge, wanted, out))


def tables_named(given: str) -> tuple[str, ...]:
    """Their keys, each once. Raises `typer.BadParameter` for one that there is not."""
    from evaluation.ablation.published import paper_tables

    known = paper_tables()
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
    from evaluation.runs.running import reached
    from evaluation.runs.tally import ask_several

    url, key = gateway_of(gateway_url)

    async def work() -> "list[Run]":
        async with reached(url, key) as gateway:
            offered = tuple(name for name in gateway.pipelines if _FOLDER_NAME.fullmatch(name))
            names, absent = systems_for(tables, offered)
            if absent:
                why = "not on this gateway (papers need a language model)"
                typer.echo(f"{why}: {', '.join(absent)}", err=True)
            done = await ask_several(opened, out / "runs", names, asking, gateway, choice)
            return [run for run, _ in done]

    return anyio.run(work)


def write_tables(runs: "Sequence[Run]", dataset: str, judge: str, wanted: Sequence[str], out: Path) -> str:
    """Both files, from the verdicts that there are. The page; ends the command where it cannot be made."""
    from evaluation.ablation.published import paper_tables
    from evaluation.ablation.tables import Systems, as_values, made, markdown
    from evaluation.scoring.scored import NotJudged, judged

    try:
        scored = {run.header.name: judged(run.records, run.folder, judge)[0] for run in runs}
    except NotJudged as error:
        refuse(str(error))
    if not any(scored.values()):
        refuse("Nothing could be asked, so there is nothing to compare.")
    systems = Systems(scored, judge, dataset)
    written = [made(paper_tables()[key], systems) for key in wanted]
    page = markdown(written, systems)
    values = json.dumps(as_values(written, systems), indent=2, ensure_ascii=False)
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / MARKDOWN).write_text(page, encoding="utf-8")
        (out / VALUES).write_text(values + "\n", encoding="utf-8")
    except OSError as error:
        refuse(f"The tables cannot be written to {out}: {error.strerror}.")
    return f"{page}\n{out / MARKDOWN}, {out / VALUES}"
