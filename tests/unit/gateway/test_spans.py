"""What the gateway tells a trace: a span a stage, one while a question waits, one a request to the model."""

from collections.abc import Mapping
from typing import Any

import anyio
import pytest
from pydantic import BaseModel

from bench.node import Reply, ServerTraits, fails, says, vlm_server
from chassis.errors import DependencyUnavailable, LoreglassError, Overloaded
from chassis.http.calls import http_client
from chassis.resilience.deadlines import Deadline
from chassis.telemetry.tracing import CALLER, TRACE_ID, read_caller
from gateway.llm.call import VlmEndpoint
from gateway.llm.client import VlmClient
from gateway.llm.prompt import Prompt, TextPart
from gateway.planning.estimates import Estimates
from gateway.planning.latencies import VlmSpeed, Work, load_latencies
from gateway.planning.live_plan import LivePlan
from gateway.planning.plan import FULL
from gateway.planning.planner import Planner
from gateway.planning.prefetch import prefetching
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.serving.admission import Admission, AdmissionLimits
from gateway.state import Priority
from tests.scripted_http import Sent
from tests.unit.gateway.planning.stage_graphs import LOREGLASS
from tests.unit.gateway.spans import NotedSpan

pytestmark = pytest.mark.anyio

SECRET = "Who is the woman in the photo?"
TRACE = "0af7651916cd43dd8448eb211c80319c"


def minute() -> Deadline:
    return Deadline.after_ms(60_000)


class Word(BaseModel):
    """One word."""

    word: str


PROMPT = Prompt(name="word", system="Say one word.", user=(TextPart(SECRET),), schema=Word, max_tokens=20)


async def test_each_stage_is_a_span_with_its_size_and_its_end() -> None:
    run = Run(TRACE, minute())
    with NotedSpan() as request:
        async with run.stage(Stage.RERANKER, Work(items=7)):
            pass
        async with run.optional(Stage.OCR), run.stage(Stage.OCR):
            raise DependencyUnavailable(SECRET)
        await run.skip(Stage.SECOND_HOP)
    reranker, ocr = request.children
    assert (reranker.name, ocr.name) == ("stage reranker", "stage ocr")
    assert reranker.attributes == {
        "loreglass.items": 7,
        "loreglass.by_model": False,
        "loreglass.state": "done",
    }
    assert ocr.attributes["loreglass.state"] == "failed"
    assert ocr.failure == "DependencyUnavailable"
    assert request.attributes == {}
    assert SECRET not in str([vars(each) for each in request.all])


async def test_a_stage_is_by_model_only_with_a_model() -> None:
    def plan(vlm: VlmSpeed | None) -> LivePlan:
        planner = Planner(FULL, Estimates(load_latencies("l40s", vlm)))
        return LivePlan(planner, LOREGLASS, Admission(AdmissionLimits(1, 0)))

    attributes = []
    for vlm in (VlmSpeed(), None):
        run = Run(TRACE, minute(), planning=plan(vlm))
        with NotedSpan() as request:
            for stage in (Stage.ANSWER, Stage.OCR):
                async with run.stage(stage):
                    pass
        attributes.append([child.attributes["loreglass.by_model"] for child in request.children])
    assert attributes == [[True, False], [False, False]]


async def test_a_cancelled_stage_is_beside_the_others_in_the_trace() -> None:
    run = Run(TRACE, minute())

    async def hangs() -> None:
        async with run.stage(Stage.OCR):
            await anyio.sleep_forever()

    with NotedSpan() as request:
        async with prefetching() as group:
            text = run.prefetch(group, hangs, None)
            await anyio.wait_all_tasks_blocked()
            async with run.stage(Stage.DRAFT):
                text.cancel()
    assert [child.name for child in request.children] == ["stage ocr", "stage draft"]  # side by side
    assert [child.attributes["loreglass.state"] for child in request.children] == ["cancelled", "done"]
    assert not any(child.children for child in request.children)


async def test_only_a_request_that_waits_for_admission_has_a_span_for_it() -> None:
    admission, entered = Admission(AdmissionLimits(1, 4)), anyio.Event()

    async def ask(request: NotedSpan) -> None:
        with request:
            async with admission.admitted("public", Priority.INTERACTIVE, minute()):
                entered.set()

    at_once, waiting = NotedSpan(), NotedSpan()
    async with anyio.create_task_group() as group:
        with at_once:
            async with admission.admitted("public", Priority.INTERACTIVE, minute()):
                group.start_soon(ask, waiting)
                await anyio.wait_all_tasks_blocked()
                assert not entered.is_set()
    assert at_once.children == []
    (span,) = waiting.children
    assert span.name == "admission"
    assert span.attributes == {"loreglass.priority": "interactive", "loreglass.waiting": 1}


async def call_model(
    reply: Reply, traits: ServerTraits | None = None
) -> tuple[NotedSpan, list[Mapping[str, str]]]:
    """One call within a trace: its span, and the headers of each request to the model."""
    async with vlm_server({"word": reply}, traits) as server, http_client() as http:
        sent = Sent(http)
        client = VlmClient(sent, VlmEndpoint(server.url, server.model))
        with NotedSpan() as request:
            token = TRACE_ID.set(TRACE)
            try:
                await client.complete(PROMPT, minute())
            except LoreglassError as error:
                request.failed(error.kind.value)
            finally:
                TRACE_ID.reset(token)
        return request, sent.headers


async def test_a_request_to_the_model_is_a_span_with_its_cost_and_without_its_words() -> None:
    request, (headers,) = await call_model(says({"word": "tea"}))
    (call,) = request.children
    assert (call.name, call.kind) == ("chat scripted-vlm", "client")
    attributes: dict[str, Any] = call.attributes
    assert attributes["gen_ai.operation.name"] == "chat"
    assert attributes["gen_ai.request.model"] == "scripted-vlm"
    assert attributes["gen_ai.prompt.name"] == "word"
    assert attributes["gen_ai.request.max_tokens"] == 20
    assert attributes["gen_ai.usage.input_tokens"] > 0
    assert attributes["gen_ai.usage.output_tokens"] > 0
    assert attributes["http.response.status_code"] == 200
    assert SECRET not in str(attributes)
    assert "tea" not in str(attributes)
    assert headers["traceparent"] == f"00-{TRACE}-{call.span_id}-01"


async def test_each_request_of_one_call_has_its_own_span() -> None:
    request, headers = await call_model(says({"word": "tea"}), ServerTraits(json_schema=False))
    assert len(request.children) == len(headers) > 1
    statuses = [call.attributes["http.response.status_code"] for call in request.children]
    assert statuses == [400] * (len(headers) - 1) + [200]
    parents = [each["traceparent"].split("-")[2] for each in headers]
    assert parents == [call.span_id for call in request.children]
    refused, _ = await call_model(fails(429, "busy"))
    assert refused.failure == Overloaded.kind.value
    assert [call.failure for call in refused.children] == [Overloaded.__name__]


async def test_the_trace_goes_to_the_model_also_while_nothing_is_recorded() -> None:
    caller = read_caller(f"00-{TRACE}-b7ad6b7169203331-01", None)
    async with vlm_server({"word": says({"word": "tea"})}) as server, http_client() as http:
        sent = Sent(http)
        client = VlmClient(sent, VlmEndpoint(server.url, server.model))
        tokens = TRACE_ID.set(TRACE), CALLER.set(caller)
        await client.complete(PROMPT, minute())
        TRACE_ID.reset(tokens[0])
        CALLER.reset(tokens[1])
    version, trace, parent, flags = sent.headers[0]["traceparent"].split("-")
    assert (version, trace, flags) == ("00", TRACE, "01")
    assert parent not in ("b7ad6b7169203331", "0" * 16)
