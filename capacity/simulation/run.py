"""Runs a load against simulated nodes, in virtual time."""

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

import anyio
import anyio.to_thread

from capacity.simulation.load import Arrival, Load
from capacity.simulation.outcomes import Figures, Outcome, Result
from capacity.simulation.platforms import Platform, open_platform
from capacity.simulation.virtual_time import run_virtual
from capacity.standins import VLM, Calibration
from chassis.resilience.deadlines import Clock
from chassis.startup import WrongSettings
from contracts.answer import Route
from gateway.settings import GatewaySettings

OnProgress = Callable[[float], None]
"""Told how many virtual seconds of the load are over."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """`count` nodes, all alike: what they can do, and the gateway before each. `seed`: of their times."""

    calibration: Calibration
    settings: GatewaySettings
    count: int = 1
    seed: int = 7


def simulate(nodes: Nodes, load: Load, on_progress: OnProgress = lambda _: None) -> Result:
    """What becomes of the load. The same for the same seeds. Raises `WrongSettings` for no such pipeline."""

    async def main(clock: Clock) -> Result:
        anyio.to_thread.current_default_thread_limiter().total_tokens = 1  # for the sake of repeatability
        async with AsyncExitStack() as opened:
            platforms = [
                await opened.enter_async_context(
                    open_platform(nodes.settings, nodes.calibration, nodes.seed + index, clock)
                )
                for index in range(nodes.count)
            ]
            refusal = platforms[0].refusal(load.pipeline)
            outcomes = [] if refusal else await _offer(load, platforms, clock, on_progress)
        if refusal:  # said out here: the gateway's task group would wrap it
            raise WrongSettings(refusal)
        return _result(load, outcomes, platforms)

    return run_virtual(main)


async def _offer(
    load: Load, platforms: Sequence[Platform], clock: Clock, on_progress: OnProgress
) -> list[Outcome]:
    """Each arrival goes to the node with the fewest questions; the first of those with equally few."""
    outcomes: list[Outcome] = []
    began = clock()

    async def ask(platform: Platform, arrival: Arrival) -> None:
        outcomes.append(await platform.ask(arrival, load, began + arrival.at_s))

    async with anyio.create_task_group() as group:
        for arrival in load.arrivals():
            await anyio.sleep(max(0.0, began + arrival.at_s - clock()))
            on_progress(arrival.at_s)
            group.start_soon(ask, min(platforms, key=lambda platform: platform.asked), arrival)
    on_progress(load.seconds)
    return outcomes


def _result(load: Load, outcomes: Sequence[Outcome], platforms: Sequence[Platform]) -> Result:
    records = [platform.node.vlm.record for platform in platforms]
    busy_ms = sum(record.busy_ms for record in records)
    calls = sum(platform.node.counts[VLM].received for platform in platforms)
    return Result(
        rate=load.rate,
        total=Figures.of(outcomes, load.seconds),
        routes={
            route: Figures.of((outcome for outcome in outcomes if outcome.route is route), load.seconds)
            for route in Route
        },
        model_calls=calls / len(outcomes) if outcomes else 0.0,
        batch=sum(record.sequence_ms for record in records) / busy_ms if busy_ms else 0.0,
        model_queue=max(record.most_waiting for record in records),
    )
