"""Counts of missed deadlines, with a clock that the pipeline moves."""

from collections.abc import Awaitable, Callable

import anyio
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from chassis.errors import Internal
from contracts.answer import Reason, Route
from gateway.planning.estimates import Estimates
from gateway.planning.latencies import load_latencies
from gateway.planning.run import Run
from gateway.serving.metrics import GatewayMetrics, QuestionRecord
from gateway.serving.stores import Sessions
from gateway.state import Query
from gateway.steps.conclusion import Outcome, refusal
from gateway.store import MemoryStore
from tests.unit.gateway.executions import answer_of, execution_of
from tests.unit.gateway.planning.stage_graphs import LOREGLASS
from tests.unit.gateway.series import Scrape, read
from tests.unit.gateway.spans import recording

pytestmark = pytest.mark.anyio

Work = Callable[[], Awaitable[Outcome]]
TEA = Outcome("Tea.", Reason.ANSWERED, 0.9, Route.DIRECT)
OUT_OF_TIME = refusal(Reason.TIMED_OUT, Route.RAG)
NO_EVIDENCE = refusal(Reason.NO_EVIDENCE, Route.RAG)


class Node:
    """An execution whose pipeline takes `takes_s` of a five-second deadline and then works."""

    name = "worker"
    stage_graph = LOREGLASS

    def __init__(self, takes_s: float, work: Outcome | Work, sessions: Sessions | None = None) -> None:
        self._now, self._takes_s, self._work = 100.0, takes_s, work
        self.ended: list[QuestionRecord] = []
        self._registry = CollectorRegistry()
        self._metrics = GatewayMetrics(self._registry, self.name, Estimates(load_latencies("pocket")))
        self._execution = execution_of(self, self._clock, sessions, on_end=self._record)

    def _clock(self) -> float:
        return self._now

    async def answer(self, ask: Query, run: Run) -> Outcome:
        self._now += self._takes_s
        return self._work if isinstance(self._work, Outcome) else await self._work()

    async def ask(self) -> None:
        """Ask one question that begins a conversation."""
        await answer_of(self._execution, deadline_ms=5_000, clock=self._clock)

    async def ask_and_cancel(self) -> None:
        """Cancel a question that has come as far as it gets."""
        async with anyio.create_task_group() as group:
            group.start_soon(self.ask)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()

    def _record(self, question: QuestionRecord) -> None:
        self.ended.append(question)
        self._metrics.count_question(question)

    def scrape(self) -> Scrape:
        """Read the metrics."""
        return read(generate_latest(self._registry).decode())

    def misses(self) -> tuple[float | None, float | None]:
        """Return the missed deadlines: refused for want of time, and late."""
        now, name = self.scrape(), "loreglass_deadline_misses_total"
        return now.value(name, kind="refused"), now.value(name, kind="late")


async def hang() -> Outcome:
    await anyio.sleep_forever()
    raise AssertionError


async def fail() -> Outcome:
    raise Internal


@pytest.mark.parametrize(
    ("takes_s", "outcome", "expected"),
    [
        (1, TEA, (0, 0)),
        (0, NO_EVIDENCE, (0, 0)),
        (4, OUT_OF_TIME, (1, 0)),
        (6, TEA, (0, 1)),
        (6, OUT_OF_TIME, (0, 1)),
    ],
)
async def test_question_misses_its_deadline_at_most_once(
    takes_s: float, outcome: Outcome, expected: tuple[float, float]
) -> None:
    node = Node(takes_s, outcome)
    await node.ask()
    assert node.misses() == expected
    now = node.scrape()
    labels = {"pipeline": "worker", "route": outcome.route.value, "reason": outcome.reason.value}
    assert now.value("loreglass_questions_total", **labels) == 1
    assert now.value("loreglass_question_seconds_sum", route=outcome.route.value) == pytest.approx(takes_s)


async def test_span_of_the_request_has_the_outcome() -> None:
    with recording() as trace:
        await Node(4, OUT_OF_TIME).ask()
    assert trace.request.attributes == {
        "loreglass.pipeline": "worker",
        "loreglass.route": "rag",
        "loreglass.reason": "timed_out",
    }


@pytest.mark.parametrize(
    ("takes_s", "reason", "expected"),
    [(1.0, "left", (0, 0)), (5.0, "failed", (0, 1)), (4.9995, "failed", (0, 1))],
    ids=["by its caller", "by its deadline", "by a timer that fires early"],
)
async def test_cancelled_question_has_left_or_overrun(
    takes_s: float, reason: str, expected: tuple[float, float]
) -> None:
    node = Node(takes_s, hang)
    await node.ask_and_cancel()
    assert [(question.reason, question.route) for question in node.ended] == [(reason, "none")]
    assert node.misses() == expected


async def test_failure_after_the_deadline_is_late() -> None:
    node = Node(6, fail)
    with pytest.raises(Internal):
        await node.ask()
    assert (node.ended[0].reason, node.ended[0].problem) == ("failed", "internal")
    assert node.misses() == (0, 1)


class StuckStore(MemoryStore):
    """Never finishes storing a turn."""

    async def append(self, *_: object) -> bool:
        await anyio.sleep_forever()
        raise AssertionError


async def test_caller_that_leaves_before_the_turn_is_stored_has_left() -> None:
    node = Node(1, TEA, Sessions(StuckStore()))
    await node.ask_and_cancel()
    assert [(question.reason, question.route) for question in node.ended] == [("left", "direct")]
