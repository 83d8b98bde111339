"""What the simulation says of a load is what a fleet on sockets does with it.

It measures wall time, so it runs only when asked for (`pytest -m load`), and best alone on its machine.
"""

import io
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import fields, replace
from statistics import fmean

import anyio
import httpx
import pytest
from PIL import Image
from rich.console import Console
from rich.table import Table

from bench.fleet import Fleet
from capacity.simulation.load import Arrival, Load
from capacity.simulation.outcomes import End, Figures, Outcome
from capacity.simulation.platforms import node_settings
from capacity.simulation.run import Nodes, simulate
from capacity.standins import QUESTIONS, Calibration
from contracts.answer import Answer
from gateway.app import create_app
from tests.live import live

pytestmark = [pytest.mark.anyio, pytest.mark.load]

CALIBRATION = Calibration.l40s()
TOLERANCE = 0.15
DRAWS = 4
_PATIENCE_S = 30.0


@asynccontextmanager
async def _gateway(seed: int) -> AsyncIterator[httpx.AsyncClient]:
    """A real gateway in front of a fleet."""
    fleet = await anyio.to_thread.run_sync(Fleet(CALIBRATION, seed).__enter__)
    try:
        async with live(create_app(node_settings(CALIBRATION, **fleet.gateway_settings))) as client:
            yield client
    finally:
        await anyio.to_thread.run_sync(fleet.close)


async def _measured(load: Load) -> Figures:
    """The load over HTTP; each question is timed from when it was due."""
    outcomes: list[Outcome] = []
    async with _gateway(load.seed) as client, anyio.create_task_group() as group:
        began = time.monotonic() + 0.1

        async def ask(arrival: Arrival) -> None:
            outcomes.append(await _outcome(client, arrival, load, began + arrival.at_s))

        for arrival in load.arrivals():
            await anyio.sleep(max(0.0, began + arrival.at_s - time.monotonic()))
            group.start_soon(ask, arrival)
    return Figures.of(outcomes, load.seconds)


async def _outcome(client: httpx.AsyncClient, arrival: Arrival, load: Load, due: float) -> Outcome:
    response = await client.post(
        "/answer",
        files={"image": ("photo.jpg", _photo(arrival.number), "image/jpeg")},
        data={"question": QUESTIONS[arrival.route], "deadline_ms": str(load.deadline_ms)},
        timeout=_PATIENCE_S,
    )
    ms = (time.monotonic() - due) * 1000
    if response.status_code == httpx.codes.SERVICE_UNAVAILABLE:
        return Outcome(arrival.route, End.SHED, ms)
    answer = Answer.model_validate_json(response.raise_for_status().content)
    end = End.REFUSED if answer.abstained else End.ANSWERED
    return Outcome(arrival.route, End.FAILED if ms > load.deadline_ms else end, ms, bool(answer.degraded))


def _photo(number: int) -> bytes:
    """No two alike."""
    held = io.BytesIO()
    Image.new("RGB", (160, 120), (number % 256, number // 256 % 256, 128)).save(held, "JPEG")
    return held.getvalue()


def _simulated(load: Load) -> list[Figures]:
    """The fleet's own draws first, then others: what becomes of an overloaded queue is chance to a degree."""
    nodes = Nodes(CALIBRATION, node_settings(CALIBRATION), seed=load.seed)
    return [simulate(replace(nodes, seed=load.seed + draw), load).total for draw in range(DRAWS)]


def _side_by_side(load: Load, fleet: Figures, simulated: Sequence[Figures]) -> Table:
    heads = ("fleet", "mean of the simulated", *(f"draw {number + 1}" for number in range(DRAWS)))
    table = Table("", *heads, title=f"{load.rate:g} questions a second for {load.seconds:g} s")
    for field in fields(Figures):
        draws = [getattr(figures, field.name) for figures in simulated]
        told = (getattr(fleet, field.name), fmean(draws), *draws)
        table.add_row(field.name, *(f"{value:.4g}" for value in told))
    return table


@pytest.mark.parametrize("rate", [1.0, 2.0, 4.0])
async def test_the_simulation_and_a_fleet_on_sockets_agree(
    rate: float, capsys: pytest.CaptureFixture[str]
) -> None:
    load = Load(rate=rate, seconds=45)
    fleet = await _measured(load)
    simulated = await anyio.to_thread.run_sync(_simulated, load)
    with capsys.disabled():
        Console().print("", _side_by_side(load, fleet, simulated))
    for name in ("p50_ms", "p99_ms", "goodput"):
        expected = fmean(getattr(figures, name) for figures in simulated)
        assert getattr(fleet, name) == pytest.approx(expected, rel=TOLERANCE), name
