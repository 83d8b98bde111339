"""What the gateway tells a trace: a span a stage, one while a question waits, one a request to the model."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import anyio
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode, format_span_id, format_trace_id
from pydantic import BaseModel

from bench.node import Reply, ServerTraits, fails, says, vlm_server
from chassis.errors import DependencyUnavailable, LoreglassError, Overloaded
from chassis.http.calls import http_client
from chassis.http.client import Endpoint
from chassis.resilience.deadlines import Deadline
from chassis.telemetry.spans import TRACE_ID
from gateway.llm.client import VlmClient
from gateway.llm.prompt import Prompt, TextPart
from gateway.planning.estimates import Estimates
from gateway.planning.latencies import VlmSpeed, Work, load_latencies
from gateway.planning.plan import FULL
from gateway.planning.planner import LivePlan, Planner
from gateway.planning.prefetch import prefetching
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.serving.admission import Admission
from gateway.state import Priority
from tests.scripted_http import Sent
from tests.unit.gateway.planning.stage_graphs import LOREGLASS
from tests.unit.gateway.series import Recording, recording

SECRET = "Who is the woman in the photo?"
TRACE = "0af7651916cd43dd8448eb211c80319c"


def minute() -> Deadline:
    return Deadline.after_ms(60_000)


class Word(BaseModel):
    """One word."""

    word: str


PROMPT = Prompt(name="word", system="Say one word.", user=(TextPart(SECRET),), schema=Word, max_tokens=20)


async def test_each_stage_has_a_span_with_size_and_outcome() -> None:
    run = Run(TRACE, minute())
    with recording() as trace:
        async with run.stage(Stage.RERANKER, Work(items=7)):
            pass
        async with run.optional(Stage.OCR), run.stage(Stage.OCR):
            raise DependencyUnavailable(SECRET)
        await run.skip(Stage.JUDGE)
    reranker, ocr = trace.children
    assert (reranker.name, ocr.name) == ("stage reranker", "stage ocr")
    done, failed = _attributes(reranker), _attributes(ocr)
    assert (done["loreglass.items"], done["loreglass.state"]) == (7, "done")
    assert (failed["loreglass.items"], failed["loreglass.state"]) == (1, "failed")
    assert (failed["error.type"], ocr.status.status_code) == ("dependency_unavailable", StatusCode.ERROR)
    assert not trace.request.attributes
    assert SECRET not in trace.request.to_json() + reranker.to_json() + ocr.to_json()


async def test_stage_span_names_a_model_only_if_it_has_one() -> None:
    def plan(vlm: VlmSpeed | None) -> LivePlan:
        return LivePlan(Planner(FULL, Estimates(load_latencies("l40s", vlm))), LOREGLASS, Admission(1, 0))

    attributes = []
    for vlm in (VlmSpeed(), None):
        run = Run(TRACE, minute(), planning=plan(vlm))
        with recording() as trace:
            for stage in (Stage.ANSWER, Stage.OCR):
                async with run.stage(stage):
                    pass
        attributes.append([_attributes(child)["loreglass.by_model"] for child in trace.children])
    assert attributes == [[True, False], [False, False]]


async def test_cancelled_stage_has_a_span() -> None:
    run = Run(TRACE, minute())

    async def hangs() -> None:
        async with run.stage(Stage.OCR):
            await anyio.sleep_forever()

    with recording() as trace:
        async with prefetching() as group:
            text = run.prefetch(group, hangs, None)
            await anyio.wait_all_tasks_blocked()
            async with run.stage(Stage.DRAFT):
                text.cancel()
    assert [child.name for child in trace.children] == ["stage ocr", "stage draft"]  # side by side
    assert [_attributes(child)["loreglass.state"] for child in trace.children] == ["cancelled", "done"]


async def test_admission_span_exists_only_for_waiting_requests() -> None:
    admission = Admission(1, 4)

    async def ask() -> None:
        async with admission.admit("public", Priority.INTERACTIVE, minute()):
            pass

    with recording() as trace:
        async with (
            anyio.create_task_group() as group,
            admission.admit("public", Priority.INTERACTIVE, minute()),
        ):
            group.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
    (span,) = trace.children
    assert span.name == "admission"
    assert _attributes(span) == {"loreglass.priority": "interactive", "loreglass.waiting": 1}


async def call_model(
    reply: Reply, traits: ServerTraits | None = None
) -> tuple[Recording, list[Mapping[str, str]]]:
    """Make one call within a trace; return the trace, and the headers of each request to the model."""
    async with vlm_server({"word": reply}, traits) as server, http_client() as http:
        sent = Sent(http)
        client = VlmClient(sent, Endpoint(server.url, server.model))
        token = TRACE_ID.set(TRACE)
        with recording() as trace, suppress(LoreglassError):
            await client.complete(PROMPT, minute())
        TRACE_ID.reset(token)
        return trace, sent.headers


async def test_model_span_has_token_counts_but_no_text() -> None:
    trace, (headers,) = await call_model(says({"word": "tea"}))
    (call,) = trace.children
    assert (call.name, call.kind) == ("chat scripted-vlm", SpanKind.CLIENT)
    attributes = _attributes(call)
    assert attributes["gen_ai.operation.name"] == "chat"
    assert attributes["gen_ai.request.model"] == "scripted-vlm"
    assert attributes["gen_ai.prompt.name"] == "word"
    assert attributes["gen_ai.request.max_tokens"] == 20
    assert attributes["gen_ai.usage.input_tokens"] > 0
    assert attributes["gen_ai.usage.output_tokens"] > 0
    assert attributes["http.response.status_code"] == 200
    assert SECRET not in str(attributes)
    assert "tea" not in str(attributes)
    assert headers["traceparent"] == _traceparent(call)


async def test_each_request_of_one_call_has_its_own_span() -> None:
    trace, headers = await call_model(says({"word": "tea"}), ServerTraits(json_schema=False))
    assert len(trace.children) == len(headers) > 1
    statuses = [_attributes(call)["http.response.status_code"] for call in trace.children]
    assert statuses == [400] * (len(headers) - 1) + [200]
    assert [each["traceparent"] for each in headers] == [_traceparent(call) for call in trace.children]
    refused, _ = await call_model(fails(429, "busy"))
    assert [_attributes(call)["error.type"] for call in refused.children] == [Overloaded.kind.value]


def _attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def _traceparent(span: ReadableSpan) -> str:
    assert span.context is not None
    ids = f"{format_trace_id(span.context.trace_id)}-{format_span_id(span.context.span_id)}"
    return f"00-{ids}-{span.context.trace_flags:02x}"
