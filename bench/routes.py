"""Benchmark 2: how long each route takes on an idle node, by the paper's order of calls and by ours."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic_core import to_json

from bench.arrivals import Outcome
from bench.benchmark import Bench, Benchmark
from bench.figures import Table, number, percentile
from bench.generator import Load
from bench.on_fleet import Platform, asked, calls, fates, platform
from bench.report import About
from capacity.node_file import read
from capacity.speed import vlm_speed
from capacity.standins import VLM, Calibration
from contracts.answer import Route
from services.vlm.presets import PRESETS

ABOUT = About(
    "routes",
    "2. Routes on the calibrated fleet",
    "One caller after the other asks the same question of each route, with a new photo, of the paper's order"
    " of calls (`qa-dragon`) and of ours (`loreglass`), in turns, on stand-ins calibrated to one L40S, with"
    " each of two models, whose speeds follow from the card's bandwidth and their presets. Published for"
    " QA-Dragon on its own hardware: 4.79 s a question and 8 to 15 model calls.",
    "`loreglass`: direct at most 1.0 s, rag at most 2.0 s at the median.",
)
GOALS_MS = {Route.DIRECT: 1_000.0, Route.RAG: 2_000.0}
PIPELINES = ("loreglass", "qa-dragon")
PRESETS_MEASURED = ("llama-3.2-11b-vision-fp8", "qwen2.5-vl-7b-fp8")
NODE = Path("deploy/placement/l40s.yaml")
_LONG_MS = 60_000
"""Nobody is hurried here: the plan is the full one."""


@dataclass(slots=True)
class Cell:
    """One pipeline on one route."""

    outcomes: list[Outcome] = field(default_factory=list)
    model_calls: float = 0.0
    calls: float = 0.0


async def run(bench: Bench) -> Sequence[Table]:
    """One table a model."""
    shares = len(PRESETS_MEASURED)
    return [
        await _of_model(bench, preset, place / shares, shares)
        for place, preset in enumerate(PRESETS_MEASURED)
    ]


async def _of_model(bench: Bench, preset: str, begun: float, shares: int) -> Table:
    """A node for each route, side by side."""
    speed = vlm_speed(read(NODE).node, PRESETS[preset])
    node = replace(Calibration.l40s(speed), holds_schema=PRESETS[preset].holds_schema)
    settings = {"vlm_speed": to_json(speed).decode()}
    rounds = bench.count(7, least=2)
    done = 0

    def step(route: Route) -> None:
        nonlocal done
        done += 1
        bench.progress(begun + done / (rounds * len(Route) * shares), f"{preset}, {route.value}")

    with ExitStack() as stack:
        nodes = {
            route: stack.enter_context(platform(seed=place, calibration=node, settings=settings))
            for place, route in enumerate(Route, 1)
        }
        cells: dict[tuple[Route, str], Cell] = {}

        async def ask(route: Route) -> None:
            for _ in range(rounds):
                for pipeline in PIPELINES:
                    cell = cells.setdefault((route, pipeline), Cell())
                    await _ask(bench, nodes[route], route, pipeline, cell)
                step(route)

        async with asyncio.TaskGroup() as group:
            for route in nodes:
                group.create_task(ask(route))
    return _table(preset, cells)


async def _ask(bench: Bench, node: Platform, route: Route, pipeline: str, cell: Cell) -> None:
    """Four questions by ours, one by the paper's slower order: few draws make a poor median."""
    count = 4 if pipeline == "loreglass" else 1
    before = await asyncio.to_thread(node.fleet.counts)
    load = Load(node.url, (asked(route, pipeline, _LONG_MS),), concurrency=1, count=count)
    cell.outcomes += await bench.generator.fire(load)
    after = await asyncio.to_thread(node.fleet.counts)
    cell.calls += calls(before, after)
    cell.model_calls += after[VLM]["received"] - before[VLM]["received"]


def _table(preset: str, cells: Mapping[tuple[Route, str], Cell]) -> Table:
    rows = []
    for (route, pipeline), cell in sorted(cells.items()):
        ms, count = [each.ms for each in cell.outcomes], len(cell.outcomes)
        taken = {each.reply.route or each.reply.kind for each in cell.outcomes}
        first = [dict(each.reply.timings_ms).get("first_word", each.ms) for each in cell.outcomes]
        figures = tuple(number(percentile(*of), 0) for of in ((first, 0.5), (ms, 0.5), (ms, 0.95)))
        per_request = (number(cell.model_calls / count), number(cell.calls / count))
        full = f"{fates(cell.outcomes).full} of {count}"
        rows.append((f"{route}, {pipeline}", *figures, *per_request, full, ", ".join(sorted(taken))))
    headers = (
        f"{preset}: route, pipeline",
        "first word p50 ms",
        "p50 ms",
        "p95 ms",
        "model calls a request",
        "all calls",
        "full answers",
        "taken",
    )
    return Table(headers, tuple(rows), _finding(cells), (_stages(cells[Route.RAG, "loreglass"]),))


def _stages(cell: Cell) -> str:
    """The stages that take longest; some run side by side."""
    timings: dict[str, list[float]] = {}
    for outcome in cell.outcomes:
        for stage, ms in outcome.reply.timings_ms:
            timings.setdefault(stage, []).append(ms)
    medians = sorted(((percentile(ms, 0.5), stage) for stage, ms in timings.items()), reverse=True)
    told = ", ".join(f"{stage} {number(ms, 0)}" for ms, stage in medians[:9] if ms >= 1)
    return f"Stages of rag by `loreglass`, median ms: {told}."


def _finding(cells: Mapping[tuple[Route, str], Cell]) -> str:
    told = []
    for route, goal in GOALS_MS.items():
        ours = percentile([each.ms for each in cells[route, "loreglass"].outcomes], 0.5)
        paper = percentile([each.ms for each in cells[route, "qa-dragon"].outcomes], 0.5)
        met = "met" if ours <= goal else "missed"
        told.append(f"{route}: the goal is {met}, {number(paper / ours, 1)} times faster than `qa-dragon`")
    return "; ".join(told).capitalize() + "."


BENCHMARK = Benchmark(ABOUT, run)
