"""`loreglass eval ablate`: the papers' tables and figures anew, over the same questions for every system."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import anyio
import typer

from evaluation.commands.run import (
    Concurrency,
    DeadlineMs,
    GatewayUrl,
    Limit,
    OnlyPart,
    Seed,
    Source,
    Split,
    gateway_of,
    opened_dataset,
    require,
    stops_politely,
)
from evaluation.data.model import Dataset
from evaluation.runs.asking import Asking
from evaluation.runs.running import System
from evaluation.runs.store import Run, RunError, load_run
from evaluation.scoring.scored import NotJudged, judged

MARKDOWN, VALUES = "ablation.md", "ablation.json"
LIST = "list"
PLANNER = "planner"


def _list_tables(given: str) -> str:
    """`--tables list` needs nothing else."""
    from evaluation.reporting.ablation import paper_tables

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
    deadline_ms: DeadlineMs = None,
    no_cuts: Annotated[
        bool, typer.Option("--no-cuts", help="no module is given up when a question's time gets short")
    ] = False,
    system: Annotated[
        list[str] | None,
        typer.Option(
            help="a table's system is the run in a folder, or that of another gateway: "
            "task-1-gold=three-step@http://gpu:7100",
            metavar="NAME=RUN|SYSTEM@URL",
        ),
    ] = None,
    judge: Annotated[
        str, typer.Option(help="whose verdicts: rules, or model:NAME", metavar="JUDGE")
    ] = "rules",
) -> None:
    """Ask every system that the tables want the questions of DATASET; write ours beside the papers' figures.

    Run the same command again to continue; no question is asked twice. For a model's verdicts, let
    it judge the runs below the folder (`eval judge`), then give the command again with --judge.
    """
    require("scipy")
    from evaluation.reporting.ablation import paper_tables

    wanted = tuple(dict.fromkeys(name.strip() for name in tables.split(",") if name.strip()))
    if not wanted or any(name not in paper_tables() for name in wanted):
        raise typer.BadParameter(f"choose among {', '.join(paper_tables())}", param_hint="--tables")
    opened = opened_dataset(dataset, part=part, split=split, limit=limit, seed=seed)
    with stops_politely():
        chosen = {"limit": limit, "seed": seed}
        asking = Asking(concurrency, deadline_ms, without=(PLANNER,) if no_cuts else ())
        places = _places(system or [], gateway)
        runs = anyio.run(_ask, opened, out, wanted, asking, places, chosen)
        typer.echo(write_tables(runs, opened.name, judge, wanted, out))


@dataclass(frozen=True, slots=True)
class Places:
    """Where systems are: `runs` by a system's name, `others` by that of a system or pipeline."""

    gateway: str | None
    runs: Mapping[str, Path]
    others: Mapping[str, tuple[str, System]]

    @property
    def names(self) -> frozenset[str]:
        """All that the command was told of."""
        return frozenset({*self.runs, *self.others})

    def gateway_of(self, name: str) -> tuple[str | None, System]:
        """Return the gateway to ask, None for the usual one, and what to ask there."""
        system = System.named(name)
        if name in self.others:
            return self.others[name]
        if system.pipeline not in self.others:
            return self.gateway, system
        url, other = self.others[system.pipeline]
        return url, System(other.pipeline, (*other.without, *system.without))


def _places(given: list[str], gateway: str | None) -> Places:
    runs, others = dict[str, Path](), dict[str, tuple[str, System]]()
    for each in given:
        name, _, where = each.partition("=")
        pipeline, _, url = where.partition("@")
        if name and url:
            others[name] = url, System.named(pipeline)
        elif name and where:
            runs[name] = Path(where)
        else:
            raise typer.BadParameter(f"{each!r} is not NAME=RUN or NAME=SYSTEM@URL", param_hint="--system")
    return Places(gateway, runs, others)


async def _ask(
    opened: Dataset,
    out: Path,
    tables: tuple[str, ...],
    asking: Asking,
    places: Places,
    choice: dict[str, int | None],
) -> dict[str, Run]:
    from evaluation.reporting.ablation import systems_for
    from evaluation.runs.running import reached
    from evaluation.runs.tally import ask_several

    names = systems_for(tables, placed=places.names)
    if unknown := places.names - {*names, *(System.named(name).pipeline for name in names)}:
        raise RunError(f"These tables ask no system {', '.join(sorted(unknown))}: see --tables list.")
    runs = {name: _stored(places.runs[name], opened) for name in names if name in places.runs}
    to_ask: dict[str | None, dict[str, System]] = defaultdict(dict)
    for name in names:
        if name not in runs:
            url, system = places.gateway_of(name)
            to_ask[url][name] = system
    for url, systems in to_ask.items():
        async with reached(*gateway_of(url)) as gateway:
            here = {name: each for name, each in systems.items() if each.pipeline in gateway.pipelines}
            if absent := [name for name in systems if name not in here]:
                why = "not on this gateway (papers need a language model)"
                typer.echo(f"{why}: {', '.join(absent)}", err=True)
            runs |= await ask_several(opened, out / "runs", here, asking, gateway, choice)
    return runs


def _stored(folder: Path, dataset: Dataset) -> Run:
    run = load_run(folder)
    if run.header.fingerprint != dataset.fingerprint:
        raise RunError(f"{folder} answers other questions than {dataset.name}, or another part of them.")
    return run


def write_tables(runs: Mapping[str, Run], dataset: str, judge: str, wanted: Sequence[str], out: Path) -> str:
    """Both files, from the verdicts that there are. Returns the page. Raises `NotJudged`."""
    from evaluation.reporting.ablation import Systems, done_without, markdown, paper_tables, table_values

    scored = {name: judged(run.records, run.folder, judge)[0] for name, run in runs.items()}
    if not any(scored.values()):
        raise NotJudged("Nothing could be asked, so there is nothing to compare.")
    systems = Systems(scored, judge, dataset)
    tables = [table_values(paper_tables()[key], systems) for key in wanted]
    page = markdown(tables, systems)
    values = {"dataset": dataset, "judge": judge, "done_without": done_without(systems), "tables": tables}
    out.mkdir(parents=True, exist_ok=True)
    (out / MARKDOWN).write_text(page, encoding="utf-8")
    (out / VALUES).write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return f"{page}\n{out / MARKDOWN}, {out / VALUES}"
