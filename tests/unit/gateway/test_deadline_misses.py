"""Which questions missed their deadline, on a clock that the pipeline moves."""

from collections.abc import Awaitable, Callable

import anyio
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from chassis.errors import Internal
from chassis.resilience.deadlines import Deadline
from contracts.answer import Reason, Route
from gateway.planning.estimates import Estimates
from gateway.planning.latencies import load_latencies
from gateway.planning.plan import Plan
from gateway.planning.planner import Planner
from gateway.planning.run import Run, ignore_events
from gateway.serving.admission import Admission, AdmissionLimits
from gateway.serving.execution import Execution, Question, Tier
from gateway.serving.metrics import QuestionMetrics, QuestionRecord
from gateway.serving.sessions import MemorySessionStore, SessionStore
from gateway.serving.tenants import PUBLIC
from gateway.serving.traces import MemoryTraceStore
from gateway.state import Photo, Query, Turn
from gateway.steps.conclusion import Outcome, refusal
from tests.unit.gateway.planning.stage_graphs import LOREGLASS
from tests.unit.gateway.series import Scrape, read
from tests.unit.gateway.spans import NotedSpan

pytestmark = pytest.mark.anyio

PHOTO = Photo(b"jpeg", 8, 8, "0" * 64)
DEADLINE_MS = 5_000
TRACE_ID = "a" * 32


class Clock:
    """Moves when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


Work = Callable[[Clock], Awaitable[Outcome]]


class Worker:
    """A pipeline that does one thing."""

    name = "worker"
    stage_graph = LOREGLASS

    def __init__(self, work: Work, clock: Clock) -> None:
        self._work = work
        self._clock = clock

    async def answer(self, ask: Query, run: Run) -> Outcome:
        """See the port."""
        return await self._work(self._clock)


class Node:
    """An execution of one pipeline, with what was told of its questions."""

    def __init__(self, work: Work, sessions: SessionStore | None = None) -> None:
        self.clock, self.ended = Clock(), list[QuestionRecord]()
        self._registry = CollectorRegistry()
        self._metrics = QuestionMetrics(self._registry, "worker")
        tier = Tier(
            Admission(AdmissionLimits(4, 0), self.clock),
            Planner(Plan(), Estimates(load_latencies("pocket"), self.clock)),
        )
        kept = MemorySessionStore() if sessions is None else sessions
        worker = Worker(work, self.clock)
        self._execution = Execution({"worker": worker}, kept, MemoryTraceStore(5), [tier], self._tell)

    async def ask(self) -> None:
        """One question, with five seconds, that begins a conversation."""
        question = Question("Which?", PHOTO, None, DEADLINE_MS, "worker")
        admitted = await self._execution.admit(question)
        deadline = Deadline.after_ms(DEADLINE_MS, self.clock)
        await self._execution.answer(admitted, TRACE_ID, deadline, ignore_events)

    def scrape(self) -> Scrape:
        """The metrics."""
        return read(generate_latest(self._registry).decode())

    def _tell(self, question: QuestionRecord) -> None:
        self.ended.append(question)
        self._metrics.observe(question)


def misses(now: Scrape) -> tuple[float | None, float | None]:
    name = "loreglass_deadline_misses_total"
    return now.value(name, kind="refused"), now.value(name, kind="late")


async def in_time(clock: Clock) -> Outcome:
    clock.now += 1
    return Outcome("Tea.", Reason.ANSWERED, 0.9, Route.DIRECT)


async def too_late(clock: Clock) -> Outcome:
    clock.now += 6
    return Outcome("Tea.", Reason.ANSWERED, 0.9, Route.DIRECT)


async def out_of_time(clock: Clock) -> Outcome:
    clock.now += 4
    return refusal(Reason.TIMED_OUT, Route.RAG)


async def out_of_time_too_late(clock: Clock) -> Outcome:
    clock.now += 6
    return refusal(Reason.TIMED_OUT, Route.RAG)


async def knows_nothing(clock: Clock) -> Outcome:
    return refusal(Reason.NO_EVIDENCE, Route.RAG)


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        (in_time, (0, 0)),
        (knows_nothing, (0, 0)),
        (out_of_time, (1, 0)),
        (too_late, (0, 1)),
        (out_of_time_too_late, (0, 1)),
    ],
)
async def test_a_question_misses_its_deadline_once_or_not_at_all(
    work: Work, expected: tuple[float, float]
) -> None:
    node = Node(work)
    await node.ask()
    now = node.scrape()
    assert misses(now) == expected
    assert now.total("loreglass_questions_total") == 1


async def test_a_late_answer_is_still_counted_as_what_it_is() -> None:
    node = Node(too_late)
    await node.ask()
    now = node.scrape()
    labels = {"pipeline": "worker", "route": "direct", "reason": "answered"}
    assert now.value("loreglass_questions_total", **labels) == 1
    assert now.value("loreglass_question_seconds_sum", route="direct") == pytest.approx(6)


async def test_the_request_s_span_says_how_the_question_ended() -> None:
    with NotedSpan() as request:
        await Node(out_of_time).ask()
    assert request.attributes == {
        "loreglass.pipeline": "worker",
        "loreglass.route": "rag",
        "loreglass.reason": "timed_out",
    }


@pytest.mark.parametrize(
    ("passed_s", "reason", "expected"),
    [(1.0, "left", (0, 0)), (5.0, "failed", (0, 1)), (4.9995, "failed", (0, 1))],
    ids=["by its caller", "by its deadline", "by a timer that rings early"],
)
async def test_who_is_stopped_has_left_or_overran(
    passed_s: float, reason: str, expected: tuple[float, float]
) -> None:
    async def hangs(clock: Clock) -> Outcome:
        clock.now += passed_s
        await anyio.sleep_forever()
        raise AssertionError

    node = Node(hangs)
    async with anyio.create_task_group() as group:
        group.start_soon(node.ask)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert [(question.reason, question.route) for question in node.ended] == [(reason, "none")]
    assert misses(node.scrape()) == expected


async def test_a_failure_after_the_deadline_is_late_too() -> None:
    async def fails(clock: Clock) -> Outcome:
        clock.now += 6
        raise Internal

    node = Node(fails)
    with pytest.raises(Internal):
        await node.ask()
    assert (node.ended[0].reason, node.ended[0].problem) == ("failed", "internal")
    assert misses(node.scrape()) == (0, 1)


class StuckStore(MemorySessionStore):
    """Never ends keeping a turn."""

    async def append_turn(
        self, session_id: str, turn: Turn, photo: Photo | None = None, tenant: str = PUBLIC
    ) -> None:
        """See the port."""
        await anyio.sleep_forever()


async def test_who_goes_while_the_answer_is_being_kept_has_not_heard_it() -> None:
    node = Node(in_time, StuckStore())
    async with anyio.create_task_group() as group:
        group.start_soon(node.ask)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert [(question.reason, question.route) for question in node.ended] == [("left", "direct")]
