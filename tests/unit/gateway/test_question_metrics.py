"""Each question is measured once, when it is over, however it ends, and misses its deadline at most once."""

from collections.abc import Awaitable, Callable
from itertools import product

import anyio
import pytest
from prometheus_client import CollectorRegistry, generate_latest
from structlog.testing import capture_logs

from chassis.errors import Internal
from contracts.answer import Reason, Route
from contracts.domain_router import Domain
from gateway.clients.services import Services
from gateway.planning.estimates import Estimates
from gateway.planning.latencies import WORKING, load_latencies
from gateway.planning.run import Run
from gateway.planning.stages import STAGE_BUDGETS, Stage
from gateway.serving.admission import Refusal
from gateway.serving.metrics import GatewayMetrics, QuestionRecord
from gateway.serving.stores import Sessions
from gateway.state import Priority, Query
from gateway.steps.conclusion import Outcome, refusal
from gateway.store import MemoryStore
from tests.unit.gateway.executions import answer_of, execution_of
from tests.unit.gateway.fakes import FakeServices, Mood
from tests.unit.gateway.planning.stage_graphs import LOREGLASS
from tests.unit.gateway.platform import QUESTION, World, gateway_before, held_question
from tests.unit.gateway.reasoners import FailingReasoner
from tests.unit.gateway.series import Scrape, read, recording, scrape

QUESTIONS, MISSES = "loreglass_questions_total", "loreglass_deadline_misses_total"


def counted(now: Scrape) -> dict[tuple[str, str], float]:
    """Questions by route and reason, of those that there were."""
    return {
        (dict(has)["route"], dict(has)["reason"]): value
        for (name, has), value in now.samples.items()
        if name == QUESTIONS and value
    }


async def test_counters_start_at_zero(world: World) -> None:
    now = await scrape(world.client)
    assert now.value(QUESTIONS, pipeline="loreglass", route="rag", reason="no_evidence") == 0
    assert (now.value(MISSES, kind="refused"), now.value(MISSES, kind="late")) == (0, 0)
    assert now.value("loreglass_domains_total", domain="book") == 0
    assert now.value("loreglass_question_seconds_count", route="direct") == 0
    for service in Services.names():
        assert now.value("loreglass_breaker_open", dependency=service) == 0
        assert (now.value("loreglass_concurrency_limit", dependency=service) or 0) >= 1
        assert now.value("loreglass_retries_total", dependency=service) == 0
    assert now.labels(QUESTIONS, "pipeline") == {"loreglass"}
    for priority, reason in product(Priority, Refusal):
        refused = {"tier": "full", "priority": priority.value, "reason": reason.value}
        assert now.value("loreglass_admission_refused_total", **refused) == 0
    await world.ask(pipeline="qa-dragon")
    now = await scrape(world.client)
    assert now.total(QUESTIONS) == now.total(QUESTIONS, pipeline="qa-dragon") == 1
    assert now.value(QUESTIONS, pipeline="qa-dragon", route="rag", reason="no_evidence") == 0
    assert now.value(QUESTIONS, pipeline="qa-dragon", route="none", reason="failed") == 0


async def test_an_answered_question_is_counted_with_its_stages_and_its_domain(world: World) -> None:
    answer = await world.ask()
    accept = {"Accept": "application/openmetrics-text; version=1.0.0"}
    exemplars = (await world.client.get("/metrics", headers=accept)).text.splitlines()
    trace = f'# {{trace_id="{answer.trace_id}"}}'
    assert {line.split("{")[0] for line in exemplars if trace in line} >= {
        "loreglass_question_seconds_bucket",
        "loreglass_stage_seconds_bucket",
        "loreglass_photo_decode_seconds_bucket",
    }
    now = await scrape(world.client)
    assert counted(now) == {("rag", "answered"): 1}
    assert now.value("loreglass_question_seconds_count", route="rag") == 1
    assert now.total("loreglass_question_seconds_sum") == pytest.approx(
        answer.timings_ms["total"] / 1000, abs=1
    )
    assert now.value("loreglass_domains_total", domain=Domain.BOOK.value) == 1
    assert now.value("loreglass_tenant_questions_total", tenant="public") == 1
    assert now.value("loreglass_question_vlm_calls_sum", route="rag") == 0
    timed = {*answer.timings_ms} - {"first_word", "total"}
    assert now.labels("loreglass_stage_seconds_count", "stage") == timed
    assert now.labels("loreglass_stage_seconds_count", "route") == {"rag"}
    for stage in timed:
        assert now.value("loreglass_stages_total", stage=stage, state="done", detail="") == 1
    assert now.total(MISSES) == 0
    assert (await world.post(photo=b"no photo at all")).status_code == 415
    now = await scrape(world.client)
    assert now.value("loreglass_photo_decode_seconds_count") == 2
    assert now.total(QUESTIONS) == 1


@pytest.mark.parametrize("step", ["draft", "answer"])
async def test_bug_is_a_failed_question_whose_reply_has_no_details(services: FakeServices, step: str) -> None:
    async with gateway_before(services, FailingReasoner(KeyError("/srv/secret"), step)) as world:
        with capture_logs() as lines:
            reply = await world.post()
        now = await scrape(world.client)
    assert (reply.status_code, reply.json()["type"]) == (500, "urn:loreglass:problem:internal")
    assert "secret" not in reply.text
    assert counted(now) == {("none", "failed"): 1}
    assert now.value("loreglass_stages_total", stage=step, state="failed", detail="internal") == 1
    assert [line["problem"] for line in lines if line["event"] == "question"] == ["internal"]
    assert now.total(MISSES) == 0


async def test_refused_question_failed_and_missed_no_deadline(services: FakeServices) -> None:
    async with gateway_before(services, max_in_flight=1, max_waiting=0) as world:
        async with held_question(world):
            assert (await world.post()).status_code == 503
        now = await scrape(world.client)
    assert counted(now) == {("none", "failed"): 1, ("rag", "answered"): 1}
    assert now.total("loreglass_admission_refused_total", tier="full", reason="full") == 1
    assert now.total(MISSES) == 0


async def test_a_stage_has_its_budget_and_its_estimate_once_it_was_reached(world: World) -> None:
    cap, believed = "loreglass_stage_cap_seconds", "loreglass_stage_expected_seconds"
    before = await scrape(world.client)
    assert (before.labels(cap, "stage"), before.labels(believed, "stage")) == (set(), set())
    answer = await world.ask()
    first = await scrape(world.client)
    reached = first.labels("loreglass_stages_total", "stage")
    assert {*answer.timings_ms} - {"first_word", "total"} <= reached
    caps = {stage.value: budget.cap / 1000 for stage, budget in STAGE_BUDGETS.items()}
    assert {name: first.value(cap, stage=name) for name in reached} == {
        name: caps.get(name) for name in reached
    }
    assert first.labels(believed, "stage") == reached & {stage.value for stage in WORKING}
    for _ in range(4):
        await world.ask()
    then = await scrape(world.client)
    session = Stage.SESSION.value
    assert then.value(believed, stage=session) != first.value(believed, stage=session)


async def test_each_question_logs_one_line_without_content(services: FakeServices, world: World) -> None:
    services.verifier.mood = Mood.CRASHES
    with capture_logs() as lines:
        answer = await world.ask()
    line, *others = [line for line in lines if line["event"] == "question"]
    assert not others
    assert line["trace_id"] == answer.trace_id
    assert (line["pipeline"], line["route"], line["reason"]) == ("loreglass", "rag", answer.reason.value)
    assert (line["deadline_ms"], line["vlm_calls"], line["tenant"]) == (60_000, 0, "public")
    assert list(line["degraded"]) == answer.degraded == ["verifier"]
    assert line["ms"] > 0
    assert QUESTION not in str(lines)
    assert answer.answer not in str(lines)


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
        self._metrics = GatewayMetrics(self._registry, self.name, Estimates(load_latencies("lite")))
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


async def test_caller_that_leaves_before_storing_counts_as_left() -> None:
    node = Node(1, TEA, Sessions(StuckStore()))
    await node.ask_and_cancel()
    assert [(question.reason, question.route) for question in node.ended] == [("left", "direct")]
