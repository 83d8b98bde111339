"""Whatever comes, whenever it leaves: nothing is held for nobody, and no call is lost from the counts."""

import random
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gateway.llm.prompts
from capacity.standins import Calibration, Node, StandInRequest
from capacity.standins.counts import Counts
from capacity.standins.decoding import ContinuousBatch, ReadPrompt, Running
from capacity.standins.stations import Station
from capacity.standins.writing import written
from chassis.errors import DeadlineExceeded, Overloaded
from chassis.resilience.deadlines import Clock, Deadline
from gateway.planning.latencies import VlmSpeed
from gateway.planning.stages import PROMPTS
from tests.virtual_time import run_virtual


@dataclass(frozen=True, slots=True)
class Visit:
    """One caller: arrives at, wants, waits at most, and has told this deadline; milliseconds."""

    at: int
    work: int
    patience: int
    deadline: int | None


_MS = st.integers(min_value=0, max_value=300)
VISITS = st.lists(st.builds(Visit, _MS, _MS, _MS, st.none() | _MS), max_size=25)


@given(visits=VISITS, workers=st.integers(1, 3), queue=st.integers(0, 4))
@settings(max_examples=60)
def test_a_station_is_empty_when_all_have_left_and_was_never_overfull(
    visits: list[Visit], workers: int, queue: int
) -> None:
    async def main(clock: Clock) -> None:
        counts = Counts()
        station = Station(workers, queue, counts, clock)

        async def visit(caller: Visit) -> None:
            await anyio.sleep(caller.at / 1000)
            deadline = None if caller.deadline is None else Deadline.after_ms(caller.deadline, clock)
            with anyio.move_on_after(caller.patience / 1000):
                try:
                    with counts.counted(deadline):
                        await station.work(caller.work, deadline)
                except (Overloaded, DeadlineExceeded):
                    pass
            assert station.working <= workers
            assert station.waiting <= queue

        async with anyio.create_task_group() as group:
            for caller in visits:
                group.start_soon(visit, caller)
        await anyio.sleep(10)
        assert (station.working, station.waiting, counts.in_flight) == (0, 0, 0)
        ended = counts.finished + counts.cancelled + counts.expired + counts.refused
        assert counts.received == ended <= len(visits)
        assert 0 <= counts.wasted_ms <= counts.worked_ms

    run_virtual(main)


@given(visits=VISITS, sequences=st.integers(1, 4))
@settings(max_examples=60)
def test_a_batch_is_empty_when_all_have_left_and_was_never_overfull(
    visits: list[Visit], sequences: int
) -> None:
    async def main(clock: Clock) -> None:
        batch = ContinuousBatch(sequences, VlmSpeed(10, 10, 5), lambda batch: 5 + batch, clock)

        async def visit(caller: Visit) -> None:
            await anyio.sleep(caller.at / 1000)
            sequence = Running(ReadPrompt("o", 100, 100, 1), tokens=1 + caller.work // 10)
            batch.submit(sequence)
            try:
                with anyio.move_on_after(caller.patience / 1000):
                    assert await sequence.beyond(sequence.tokens - 1) == sequence.tokens
                assert batch.running <= sequences
            finally:
                batch.leave(sequence)

        async with anyio.create_task_group() as group:
            for caller in visits:
                group.start_soon(visit, caller)
        await anyio.sleep(10)
        assert (batch.running, batch.waiting) == (0, 0)
        assert batch.record.mean_batch <= sequences

    run_virtual(main)


def test_a_node_serves_the_same_calls_in_the_same_times_again() -> None:
    async def main(clock: Clock) -> list[tuple[float, ...]]:
        node = Node(replace(Calibration.l40s(), sequences=2), 7, clock)
        dice = random.Random(3)
        request = StandInRequest("POST", "/v1/text-search", {}, b'{"queries": ["bridge"], "k": 3}')

        async def call(at_s: float, patience_s: float) -> None:
            await anyio.sleep(at_s)
            with anyio.move_on_after(patience_s):
                await node.handle("text_search", request)

        async with anyio.create_task_group() as group:
            for _ in range(40):
                group.start_soon(call, dice.random() / 10, dice.random() / 50)
        return [astuple(counts) for counts in node.counts.values()]

    first = run_virtual(main)
    assert first == run_virtual(main)
    assert any(counts != astuple(Counts()) for counts in first)


def test_every_prompt_of_the_gateway_has_a_reply_and_a_length() -> None:
    folder = Path(gateway.llm.prompts.__file__).parents[2]
    asked = {file.stem for file in folder.glob("**/prompts/*.toml")} - {"system", "question"}
    assert asked == {name for prompts in PROMPTS.values() for name in prompts}
    for name in asked:
        assert written(name, "TASK\n\nQuestion: When?") is not None
        assert Calibration.l40s().prompt(name) is not None
    assert written("unheard_of", "") is None


def test_no_time_is_shorter_than_none() -> None:
    with pytest.raises(ValueError, match="0 or more"):
        Calibration.l40s().scaled(-1)
