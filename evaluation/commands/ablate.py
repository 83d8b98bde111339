"""`loreglass eval ablate`: fill the papers' tables and figures, with the same questions for every system."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import anyio
import typer

from evaluation.commands.run import (
    Concurrency,
    DeadlineMs,
    Diagnostics,
    GatewayUrl,
    Limit,
    OnlyPart,
    Seed,
    Source,
    Split,
    gateway_of,
    read_dataset,
    require,
    stops_politely,
)
from evaluation.data.model import Dataset
from evaluation.runs.asking import Asking
from evaluation.runs.running import System
from evaluation.runs.store import Run, RunError, load_run
from evaluation.scoring.protocols import NotJudged, score_records

MARKDOWN, VALUES = "ablation.md", "ablation.json"
LIST = "list"


def _list_tables(given: str) -> str:
    """Print the tables and exit for `--tables list`; else return the value."""
    from evaluation.reporting.paper_tables import paper_tables

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
    at: Annotated[
        list[str] | None,
        typer.Option(
            help="gateway with another model, for systems whose names end in @NAME", metavar="NAME=URL"
        ),
    ] = None,
    run: Annotated[
        list[str] | None,
        typer.Option(
            help="folder of a system's finished run, which is not asked again", metavar="SYSTEM=RUN"
        ),
    ] = None,
    part: OnlyPart = None,
    split: Split = None,
    limit: Limit = None,
    seed: Seed = None,
    concurrency: Concurrency = 2,
    deadline_ms: DeadlineMs = None,
    no_cuts: Annotated[
        bool, typer.Option("--no-cuts", help="run every module, also when a question's time is short")
    ] = False,
    diagnostics: Diagnostics = "",
    judge: Annotated[
        str, typer.Option(help="whose verdicts: rules, bem, or model:NAME", metavar="JUDGE")
    ] = "rules",
) -> None:
    """Ask every system of the tables the questions of DATASET; write our figures beside the papers'.

    Run the same command again to continue; no question is asked twice. For a model's verdicts, let
    it judge the runs below the folder (`eval judge`), then give the command again with --judge.
    """
    require("scipy")
    wanted = _names(tables)
    gateways = {"": gateway, **_named_gateways(at or [], wanted)}
    opened = read_dataset(dataset, diagnostics, part=part, split=split, limit=limit, seed=seed)
    with stops_politely():
        chosen = {"limit": limit, "seed": seed}
        asking = Asking(concurrency, deadline_ms, without=("planner",) if no_cuts else ())
        stored = _load_stored(run or [], wanted, opened)
        new_runs = anyio.run(_ask, opened, out, wanted, asking, gateways, chosen, frozenset(stored))
        runs = {**{each.header.name: each for each in new_runs}, **stored}
        if diagnostics:
            runs = {name: _with_targets(each, opened) for name, each in runs.items()}
        typer.echo(write_tables(runs, opened.name, judge, wanted, out))


def _names(tables: str) -> tuple[str, ...]:
    """Return the names of the tables. Raises `typer.BadParameter`."""
    from evaluation.reporting.paper_tables import paper_tables

    names = tuple(dict.fromkeys(name.strip() for name in tables.split(",") if name.strip()))
    if not names or any(name not in paper_tables() for name in names):
        raise typer.BadParameter(f"choose among {', '.join(paper_tables())}", param_hint="--tables")
    return names


async def _ask(
    opened: Dataset,
    out: Path,
    tables: tuple[str, ...],
    asking: Asking,
    gateways: dict[str, str | None],
    choice: dict[str, int | None],
    stored: frozenset[str],
) -> list[Run]:
    from evaluation.reporting.paper_tables import systems_at
    from evaluation.runs.running import ask_several, connect

    runs: list[Run] = []
    for at, url in gateways.items():
        systems = [each for each in systems_at(at, tables) if each not in stored]
        if not systems:
            continue
        async with connect(*gateway_of(url)) as gateway:
            absent = [each for each in systems if System.named(each).pipeline not in gateway.pipelines]
            if absent:
                why = "not on this gateway (papers need a language model)"
                typer.echo(f"{why}: {', '.join(absent)}", err=True)
            names = [each for each in systems if each not in absent]
            runs += await ask_several(opened, out / "runs", names, asking, gateway, choice)
    return runs


def _load_stored(given: Sequence[str], tables: Sequence[str], dataset: Dataset) -> dict[str, Run]:
    """Return stored runs by system. Raises `RunError` for a run of other questions or of no table."""
    from evaluation.reporting.paper_tables import paper_tables

    systems = {name for key in tables for name in paper_tables()[key].systems}
    runs: dict[str, Run] = {}
    for name, _, folder in (each.partition("=") for each in given):
        if name not in systems:
            raise RunError(f"These tables ask no system {name!r}. List the systems with: --tables list")
        if not folder:
            raise RunError(f"Give the folder of the finished run: --run {name}=RUN")
        runs[name] = load_run(Path(folder))
        if runs[name].header.fingerprint != dataset.fingerprint:
            raise RunError(f"{folder} answers other questions than {dataset.name}, or another part of them.")
    return runs


def _with_targets(run: Run, dataset: Dataset) -> Run:
    """Return the run with the dataset's targets: its questions may have been asked without --diagnostics."""
    targets = {turn.interaction_id: turn.target for each in dataset.conversations for turn in each.turns}
    records = (each.model_copy(update={"target": targets.get(each.interaction_id)}) for each in run.records)
    return replace(run, records=tuple(records))


def _named_gateways(given: Sequence[str], tables: Sequence[str]) -> dict[str, str]:
    """Return gateways by their names in the tables' rows."""
    from evaluation.reporting.paper_tables import paper_tables

    systems = [System.named(name) for key in tables for name in paper_tables()[key].systems]
    names = dict.fromkeys(each.at for each in systems if each.at)
    gateways = {name.strip(): url.strip() for name, _, url in (each.partition("=") for each in given)}
    for name, url in gateways.items():
        if name not in names:
            there = f"they name {', '.join(names)}" if names else "they name none"
            raise typer.BadParameter(f"these tables name no gateway {name!r}; {there}", param_hint="--at")
        if not url:
            raise typer.BadParameter(f"give the gateway's URL: {name}=http://…", param_hint="--at")
    return gateways


def write_tables(runs: Mapping[str, Run], dataset: str, judge: str, wanted: Sequence[str], out: Path) -> str:
    """Write both files from the stored verdicts, and return the page. Raises `NotJudged`."""
    from evaluation.reporting.ablation import Systems, markdown, table_values
    from evaluation.reporting.paper_tables import paper_tables

    scored = {name: score_records(run.records, run.folder, judge)[0] for name, run in runs.items()}
    if not any(scored.values()):
        raise NotJudged("Nothing could be asked, so there is nothing to compare.")
    systems = Systems(scored, judge, dataset)
    tables = [table_values(paper_tables()[key], systems) for key in wanted]
    page = markdown(tables, systems)
    values = {"dataset": dataset, "judge": judge, "tables": tables}
    out.mkdir(parents=True, exist_ok=True)
    (out / MARKDOWN).write_text(page, encoding="utf-8")
    (out / VALUES).write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return f"{page}\n{out / MARKDOWN}, {out / VALUES}"
